"""What ETags tell."""

import hashlib

import pytest

from app.client.digests import MIB, composite, part_sizes, read_etag

MD5 = "d41d8cd98f00b204e9800998ecf8427e"
SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize(
    ("etag", "told"),
    [
        (f'"{MD5}"', ("md5", MD5, None)),
        (MD5.upper(), ("md5", MD5, None)),
        (f'"{SHA256}"', ("sha256", SHA256, None)),
        (f'"{MD5}-16"', ("md5", MD5, 16)),
        (f'"{SHA256}-10000"', ("sha256", SHA256, 10000)),
        ("", None),
        ('"0123"', None),
        (f'"{MD5}-0"', None),
        (f'"{MD5}-x"', None),
        (f'"{MD5[:-1]}g"', None),
    ],
)
def test_an_etag_is_read_by_its_form(etag: str, told: tuple[str, str, int | None] | None) -> None:
    assert read_etag(etag) == told


@pytest.mark.parametrize(
    ("headers", "tells"),
    [
        ({"x-amz-server-side-encryption": "AES256"}, True),
        ({"x-amz-server-side-encryption": "aws:kms"}, False),
        ({"x-amz-server-side-encryption-customer-algorithm": "AES256"}, False),
    ],
    ids=["own key", "kms", "customer"],
)
def test_the_etag_of_an_encrypted_object_tells_nothing(headers: dict[str, str], tells: bool) -> None:
    assert (read_etag(MD5, headers) is not None) is tells


def test_a_composite_is_the_digest_of_binary_digests() -> None:
    parts = [hashlib.md5(part).digest() for part in (b"one", b"two")]

    assert composite("md5", [part.hex() for part in parts]) == hashlib.md5(b"".join(parts)).hexdigest()


@pytest.mark.parametrize(
    ("size", "n_parts", "sizes"),
    [
        (0, 1, [1]),
        (7, 1, [7]),
        (12 * MIB, 3, [5 * MIB]),
        (1024 * MIB, 16, [64 * MIB, 65 * MIB, 66 * MIB, 67 * MIB, 68 * MIB]),
        (64 * MIB + 1, 2, [64 * MIB, *(n * MIB for n in range(33, 64))]),
    ],
)
def test_all_sizes_of_parts_that_fit_are_found_the_likeliest_first(size: int, n_parts: int, sizes: list[int]) -> None:
    assert part_sizes(size, n_parts, likely=64 * MIB) == (sizes, True)


def test_sizes_are_not_tried_for_ever() -> None:
    found, are_all = part_sizes(20 * 1024 * MIB, 2, likely=64 * MIB)

    assert (found, are_all) == ([16 * 1024 * MIB], False)


def test_found_sizes_make_so_many_parts() -> None:
    for size in (11 * MIB, 100 * MIB + 7, 5000 * MIB):
        for n_parts in (2, 3, 7):
            found, _ = part_sizes(size, n_parts, likely=64 * MIB)
            assert all(-(-size // each) == n_parts for each in found)
