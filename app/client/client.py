"""`TracesetsClient`: the API, and transfers that survive a bad line."""

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from app.client.backoff import FIRST_WAIT
from app.client.calls import Calls, Route
from app.client.downloads import Downloader
from app.client.errors import ApiError, Gone, LocalError, TooLarge, UploadEnded
from app.client.journal import Journal, journals, state_folder
from app.client.models import DownloadURL, MappingFile, Traceset, TracesetFile, Upload
from app.client.plan import Plan, parse_ranks, plan_upload, select_files, workload_metadata
from app.client.rounds import Rounds
from app.client.service import JSON, Reply, Service
from app.client.sources import LocalFile, collect, sha256_of
from app.client.target import Target
from app.client.transport import Http
from app.client.uploads import Uploader
from app.client.watcher import Watcher

Hashing = Literal["none", "small", "all"]
"""Which files are read once more, before the upload is opened, to declare their SHA-256: the service then takes content
that it has in the same workspace as sent (U9), and a deep validation compares with it (V6)."""
SMALL_FILE = 8 * 1024 * 1024
"""Bytes; reading such a file twice costs little, and the second time from memory."""
Paths = Iterable[str | Path]


@dataclass(frozen=True, slots=True)
class Download:
    """What a download has brought.

    Attributes:
        subject: whose files they are.
        folder: where the files are.
        files: names of those that were asked for and are there.
        external: names of files that the service does not keep, and that were left out.
        unverified: names of files of which no more than the size could be verified.
    """

    subject: Traceset | MappingFile
    folder: Path
    files: tuple[str, ...]
    external: tuple[str, ...]
    unverified: tuple[str, ...]


class TracesetsClient(Calls):
    """A service, for the holder of a token.

    Args:
        url: of the service, such as `https://traces.example.org`.
        token: an API token.
        timeout: seconds to wait for the next bytes of any answer.
        patience: seconds for which a plain call is tried again while the service does not answer.
        transfer_patience: seconds for which a transfer goes on without any success.
        workers: parts and ranges that move at a time.
        state: the folder that remembers unfinished uploads; None: the user's.
        first_wait: seconds before the first repetition; later ones wait longer.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 75.0,
        patience: float = 5.0,
        transfer_patience: float = 300.0,
        workers: int = 8,
        state: Path | None = None,
        first_wait: float = FIRST_WAIT,
    ) -> None:
        self._http = Http(timeout=timeout, connections=workers + 1)
        super().__init__(Service(url, token, self._http, patience=patience, first_wait=first_wait))
        self._transfer_patience = transfer_patience
        self._workers = workers
        self._state = state or state_folder()
        self._first_wait = first_wait

    def __repr__(self) -> str:
        return f"TracesetsClient({self.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the kept connections."""
        self._http.close()

    @property
    def url(self) -> str:
        """Of the service, without `/api/v1`."""
        return self._service.url

    def upload_traceset(
        self,
        files: Plan | Paths,
        *,
        name: str,
        rank_count: int | None = None,
        degrees: Mapping[str, int] | None = None,
        metadata: Mapping[str, Any] | None = None,
        workspace_id: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        ttl_days: int | None = None,
        hashing: Hashing = "small",
        watcher: Watcher | None = None,
    ) -> Traceset:
        """Send files as a new traceset, and return when it is ready.

        Args:
            files: paths of files and folders, and patterns; or a plan of them with roles (`plan_upload`).
            name: of the traceset, 1 to 255 characters.
            rank_count: how many ranks there are; a traceset with primary files declares it so or by degrees.
            degrees: dp, tp, sp, ep and pp, whose product is the rank count.
            metadata: the workload's, in which count and degrees are put.
            workspace_id: None: the universal workspace.
            description, tags, ttl_days: as in the API.
            hashing: which files declare their SHA-256.
            watcher: is told what moves.

        Raises:
            SourceChanged: a file changed while it was sent.
            NotReachable: the line was down for longer than the patience; `resume_upload` goes on.
            LocalError: a path is wrong.
        """
        plan = files if isinstance(files, Plan) else plan_upload(collect(files))
        declared = workload_metadata(metadata, rank_count=rank_count, degrees=degrees or {})
        body: JSON = {
            "workspaceId": workspace_id,
            "name": name,
            "description": description,
            "tags": list(tags),
            "ttlDays": ttl_days,
            "workloadMetadata": declared,
            "files": [
                {**spec, "role": role} for spec, role in zip(self._specs(plan.files, hashing), plan.roles, strict=True)
            ],
        }
        return Traceset.from_reply(self._upload("tracesets", body, plan.files, watcher))

    def upload_mapping_file(
        self,
        paths: Paths,
        *,
        name: str,
        workspace_id: str | None = None,
        hashing: Hashing = "small",
        watcher: Watcher | None = None,
    ) -> MappingFile:
        """Send files as a new mapping file, and return when it is ready; see `upload_traceset`."""
        files = collect(paths)
        body = {"workspaceId": workspace_id, "name": name, "files": self._specs(files, hashing)}
        return MappingFile.from_reply(self._upload("mapping-files", body, files, watcher))

    def unfinished_uploads(self) -> list[Journal]:
        """What this machine remembers of uploads to this service that have not come to their end, the newest first."""
        return journals(self._state, self.url)

    def resume_upload(
        self, upload_id: str | None = None, paths: Paths = (), *, watcher: Watcher | None = None
    ) -> Traceset | MappingFile:
        """Go on with an upload, and send only what the store lacks.

        Args:
            upload_id: the session; None: the upload that was begun last on this machine.
            paths: where the files are, for a session of tracesets that was begun on another machine; they are called
                as in `upload_traceset`.
            watcher: is told what moves.

        Raises:
            LocalError: this machine remembers no such upload, and there are no paths.
            UploadEnded: the session takes no more parts.
            SourceChanged: a file has another size than it had, or the store holds other bytes of it.
        """
        known = [each for each in self.unfinished_uploads() if upload_id in (None, each.upload_id)]
        if known:
            journal = known[0]
            journal.renew()
        elif upload_id is not None and (files := list(paths)):
            journal = self._adopt(self.get_upload(upload_id), files)
        else:
            raise LocalError(
                f"Nothing is known here of upload {upload_id}; name its files to go on with it"
                if upload_id
                else "There is no unfinished upload to go on with"
            )
        reply = self._finish(journal, watcher)
        return MappingFile.from_reply(reply) if journal.route == "mapping-files" else Traceset.from_reply(reply)

    def download_traceset(
        self,
        traceset_id: str,
        folder: str | Path,
        *,
        files: Sequence[str] = (),
        ranks: str | None = None,
        may_replace: bool = False,
        is_verifying: bool = True,
        watcher: Watcher | None = None,
    ) -> Download:
        """Fetch the files of a traceset into a folder; called again after any end, it goes on.

        Args:
            traceset_id: of a ready traceset.
            folder: is made where there is none; names with `/` make folders in it.
            files: names, or patterns such as `host/*`.
            ranks: such as `0-7,12`: the primary files whose names suggest these ranks, beside `files`.
            may_replace: files that lie there already may be replaced.
            is_verifying: hold the bytes against what the store says of them.
            watcher: is told what moves.

        Raises:
            LocalError: the folder cannot be used, a name is unsafe, or something lies there already.
            Damaged: the bytes are not those that were uploaded.
            NotReachable: the line was down for longer than the patience.
        """
        traceset = self.get_traceset(traceset_id)
        wanted = select_files(traceset.files, patterns=files, ranks=parse_ranks(ranks) if ranks is not None else ())
        return self._download(
            traceset,
            Path(folder),
            wanted,
            may_replace=may_replace,
            is_verifying=is_verifying,
            watcher=watcher,
        )

    def download_mapping_file(
        self,
        mapping_id: str,
        folder: str | Path,
        *,
        files: Sequence[str] = (),
        may_replace: bool = False,
        is_verifying: bool = True,
        watcher: Watcher | None = None,
    ) -> Download:
        """Fetch the files of a mapping file into a folder; see `download_traceset`."""
        mapping = self.get_mapping_file(mapping_id)
        wanted = select_files(mapping.files, patterns=files)
        return self._download(
            mapping,
            Path(folder),
            wanted,
            may_replace=may_replace,
            is_verifying=is_verifying,
            watcher=watcher,
        )

    # What both kinds have in common

    def _upload(self, route: Route, body: JSON, files: Sequence[LocalFile], watcher: Watcher | None) -> Reply:
        journal = Journal.begin(self._state, url=self.url, route=route, body=body, files=files)
        return self._finish(journal, watcher)

    def _finish(self, journal: Journal, watcher: Watcher | None) -> Reply:
        """Bring an upload to its end; what can never come to one is forgotten."""
        watcher = watcher or Watcher()
        uploader = Uploader(
            self._service,
            self._http,
            journal,
            rounds=self._rounds(),
            watcher=watcher,
            patience=self._transfer_patience,
        )
        try:
            upload_id = journal.upload_id or uploader.open()
            watcher.opened(upload_id)
            reply = uploader.finish()
        except (UploadEnded, Gone, TooLarge):
            journal.forget()
            raise
        except ApiError as exc:
            if journal.upload_id is None and exc.status < 500:
                journal.forget()
            raise
        finally:
            journal.close()
        journal.forget()
        return reply

    def _adopt(self, session: Upload, paths: Paths) -> Journal:
        """A journal for a session that was begun elsewhere.

        Raises:
            LocalError: a file of the session is not among the paths, or has another size.
        """
        found = {file.name: file for file in collect(paths)}
        to_send = {file.name: sum(part.size for part in file.parts) for file in session.files if file.parts}
        for name, size in to_send.items():
            if name not in found:
                raise LocalError(f"Upload {session.id} has a file {name}, which is not among those given")
            if found[name].size != size:
                raise LocalError(f"{found[name].path} has another size than the {size} bytes of its upload")
        files = [found[name] for name in to_send]
        return Journal.begin(self._state, url=self.url, route="tracesets", body={}, files=files, upload_id=session.id)

    def _download(
        self,
        subject: Traceset | MappingFile,
        folder: Path,
        wanted: Sequence[tuple[int, TracesetFile]],
        *,
        may_replace: bool,
        is_verifying: bool,
        watcher: Watcher | None,
    ) -> Download:
        route: Route = "mapping-files" if isinstance(subject, MappingFile) else "tracesets"

        def sign(name: str) -> DownloadURL:
            return self._download_url(route, subject.id, name, patience=self._transfer_patience)

        target = Target(folder, subject.id)
        is_complete = False
        try:
            downloader = Downloader(
                self._http,
                sign,
                target,
                rounds=self._rounds(),
                watcher=watcher or Watcher(),
                is_verifying=is_verifying,
            )
            downloader.run(wanted, may_replace=may_replace)
            is_complete = True
        finally:
            target.close(is_complete=is_complete)
        return Download(
            subject=subject,
            folder=folder,
            files=tuple(file.name for _, file in wanted),
            external=tuple(file.name for file in subject.files if file.external_url is not None),
            unverified=tuple(downloader.unverified),
        )

    def _rounds(self) -> Rounds[Any]:
        return Rounds(workers=self._workers, patience=self._transfer_patience, first_wait=self._first_wait)

    def _specs(self, files: Sequence[LocalFile], hashing: Hashing) -> list[JSON]:
        limit = {"none": -1, "small": SMALL_FILE, "all": math.inf}[hashing]
        hashed = [file for file in files if file.size <= limit]
        with ThreadPoolExecutor(self._workers) as pool:
            digests = dict(zip((file.name for file in hashed), pool.map(sha256_of, hashed), strict=True))
        return [
            {"name": file.name, "size": file.size} | ({"sha256": digests[file.name]} if file.name in digests else {})
            for file in files
        ]
