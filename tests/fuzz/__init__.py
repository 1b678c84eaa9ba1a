"""Requests made up by Schemathesis from the API's document: valid, invalid, and in sequences."""
