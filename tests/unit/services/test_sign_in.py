"""What signing in compares a password with where there is nobody."""

from argon2 import PasswordHasher

from app.services.sign_in import NOBODYS_HASH


def test_nobodys_password_takes_as_long_as_anybodys() -> None:
    assert not PasswordHasher().check_needs_rehash(NOBODYS_HASH)
