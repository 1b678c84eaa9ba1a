"""What lies in the store, seen without the application's own code."""

from collections.abc import Iterator
from pathlib import Path

import boto3
from botocore.config import Config
from flask import Flask

from app.settings import Settings


def raw_content(app: Flask) -> dict[str, tuple[object, ...]]:
    """Everything in the store's folder or bucket, each with what changes when it is written again."""
    settings: Settings = app.extensions["settings"]
    return dict(_in_bucket(settings) if settings.s3_bucket else _in_folder(settings.data_dir / "store"))


def _in_folder(folder: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    for path in folder.rglob("*"):
        if path.is_file():
            found = path.stat()
            yield str(path), (found.st_ino, found.st_size, found.st_mtime_ns)


def _in_bucket(settings: Settings) -> Iterator[tuple[str, tuple[object, ...]]]:
    client = boto3.client(
        "s3",
        endpoint_url=settings.s3_endpoint_url,
        region_name=settings.s3_region,
        config=Config(s3={"addressing_style": "path"}),
    )
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=settings.s3_bucket):
        for found in page.get("Contents", ()):
            yield found["Key"], (found["Size"], found["ETag"], found["LastModified"])
    for upload in client.list_multipart_uploads(Bucket=settings.s3_bucket).get("Uploads", ()):
        yield upload["Key"], (upload["UploadId"],)
