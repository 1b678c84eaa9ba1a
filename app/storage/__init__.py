"""Object stores: which one a deployment uses is decided here."""

from collections.abc import Callable

from app.settings import Settings
from app.storage.base import ObjectStore
from app.storage.disk import DiskStore
from app.storage.s3 import S3Store


def make_store(settings: Settings, origin: Callable[[], str]) -> ObjectStore:
    """S3 where a bucket is named, else the disk store below the data folder.

    Args:
        settings: the deployment's.
        origin: gives the public origin ("https://traces.example.org") that the disk store's URLs begin with.
    """
    if settings.s3_bucket:
        return S3Store(
            bucket=settings.s3_bucket,
            endpoint_url=settings.s3_endpoint_url,
            public_endpoint_url=settings.s3_public_endpoint_url,
            region=settings.s3_region,
            prefix=settings.s3_prefix,
            addressing_style=settings.s3_addressing_style,
        )
    return DiskStore(settings.data_dir / "store", settings.signing_key, origin)
