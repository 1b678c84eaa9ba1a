"""A Ceph cluster of one of each, with its S3 gateway: the real server that the S3 store is tested against."""

import shutil
import subprocess
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from ssl import create_default_context

from tests.servers.process import ServerFailed, ServerProcess, free_port, temporary_folder
from tests.servers.s3 import S3Server

_PROGRAMS = ("ceph", "ceph-authtool", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin", "openssl")
_COMMAND_SECONDS = 120
_CAPACITY = 8 * 1024**3

# Who may do what in the cluster. Authentication stays on: the gateway of Ceph 16 never connects to a cluster without.
_ROLES = {
    "mon.": {"mon": "allow *"},
    "client.admin": {"mon": "allow *", "osd": "allow *"},
    "client.rgw": {"mon": "allow rw", "osd": "allow rwx"},
    "osd.0": {"mon": "allow profile osd", "osd": "allow *"},
}

# One copy of everything, nothing that waits for a manager daemon (there is none), every socket on loopback.
_CONFIGURATION = """\
[global]
fsid = {fsid}
mon_host = v2:127.0.0.1:{monitor_port}
mon_initial_members = a
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
auth_allow_insecure_global_id_reclaim = false
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_ipv6 = false
ms_bind_msgr1 = false
keyring = {folder}/keyring
run_dir = {folder}
crash_dir = {folder}
admin_socket =
log_file = {folder}/$name.log
log_to_stderr = false
err_to_stderr = true
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pgp_num = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_max_pg_per_osd = 10000

[mon]
mon_data = {folder}/mon
mon_cluster_log_file = {folder}/cluster.log
mon_data_avail_warn = 2
mon_data_avail_crit = 1
mon_memory_autotune = false
paxos_propose_interval = 0.05
paxos_min_wait = 0.02
rocksdb_cache_size = 33554432

[osd]
osd_data = {folder}/osd
osd_objectstore = memstore
osd_crush_initial_weight = 1
osd_class_load_list = *
osd_class_default_list = *
memstore_device_bytes = {capacity}
memstore_page_set = true

[client]
rgw_data = {folder}/rgw
rgw_frontends = beast {frontend}
rgw_thread_pool_size = 64
rgw_enable_usage_log = false
rgw_run_sync_thread = false
rgw_dynamic_resharding = false
rgw_rados_pool_pg_num_min = 1
"""


class RadosGateway(S3Server):
    """Ceph's S3 gateway over a cluster that keeps its objects in memory, and one S3 user.

    The gateway checks signatures and their expiry under any region's name.

    Args:
        tls: serve https, with a certificate made for it (`ca_file`).
    """

    def __init__(self, *, tls: bool = False) -> None:
        _require_programs()
        self._folder = temporary_folder("ceph")
        self._processes: list[ServerProcess] = []
        port = free_port()
        self.endpoint = f"http{'s' if tls else ''}://127.0.0.1:{port}"
        frontend = f"endpoint=127.0.0.1:{port}"
        if tls:
            self.ca_file, key = self._make_certificate()
            frontend = f"ssl_endpoint=127.0.0.1:{port} ssl_certificate={self.ca_file} ssl_private_key={key}"
        self._configure(frontend)
        try:
            self._boot()
        except BaseException:
            self.stop()
            raise

    @contextmanager
    def away(self) -> Iterator[None]:
        """No gateway meanwhile; the cluster behind it keeps what it has."""
        self._processes.pop().stop()
        try:
            yield
        finally:
            self._open_gateway()

    def stop(self) -> None:
        while self._processes:
            self._processes.pop().stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _configure(self, frontend: str) -> None:
        for name in ("mon", "osd", "rgw"):
            (self._folder / name).mkdir()
        self._fsid = str(uuid.uuid4())
        self._monitor_port = free_port()
        self._conf = self._folder / "ceph.conf"
        self._conf.write_text(
            _CONFIGURATION.format(
                folder=self._folder,
                fsid=self._fsid,
                monitor_port=self._monitor_port,
                capacity=_CAPACITY,
                frontend=frontend,
            )
        )

    def _boot(self) -> None:
        """Bring up monitor, storage daemon, user and gateway, in the order in which they need each other."""
        keyring, monitors = self._folder / "keyring", self._folder / "monmap"
        self._run("ceph-authtool", "--create-keyring", keyring)
        for name, rights in _ROLES.items():
            capabilities = [word for service, right in rights.items() for word in ("--cap", service, right)]
            self._run("ceph-authtool", keyring, "--gen-key", "--name", name, *capabilities)
        address = f"[v2:127.0.0.1:{self._monitor_port}]"
        self._run("monmaptool", "--create", "--fsid", self._fsid, "--addv", "a", address, monitors)
        self._run("ceph-mon", "-i", "a", "--mkfs", "--monmap", monitors, "--keyring", keyring)
        self._serve("ceph-mon", "-i", "a")
        disk = str(uuid.uuid4())
        self._run("ceph", "--connect-timeout", "60", "osd", "new", disk, "0")
        self._run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", disk)
        self._serve("ceph-osd", "-i", "0")
        # Waits until the storage daemon serves, and makes the pools on its way.
        self._run(
            "radosgw-admin",
            "-n",
            "client.rgw",
            "user",
            "create",
            "--uid=test",
            "--display-name=Test",
            f"--access-key={self.access_key}",
            f"--secret-key={self.secret_key}",
            "--max-buckets=0",
        )
        self._open_gateway()

    def _open_gateway(self) -> None:
        self._serve("radosgw", "-n", "client.rgw").wait_until(self._answers)

    def _run(self, program: str, *arguments: str | Path) -> None:
        command = [program, "-c", str(self._conf), *map(str, arguments)]
        done = subprocess.run(
            command, cwd=self._folder, capture_output=True, text=True, timeout=_COMMAND_SECONDS, check=False
        )
        if done.returncode != 0:
            raise ServerFailed(f"{command!r}: {done.stdout}{done.stderr}")

    def _serve(self, program: str, *arguments: str) -> ServerProcess:
        process = ServerProcess([program, "-c", str(self._conf), "-f", *arguments], self._folder / f"{program}.out")
        self._processes.append(process)
        return process

    def _make_certificate(self) -> tuple[Path, Path]:
        """A self-signed certificate for the loopback address, and its key."""
        certificate, key = self._folder / "certificate.pem", self._folder / "key.pem"
        request = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
        command = ["openssl", *request.split(), "-keyout", str(key), "-out", str(certificate)]
        subprocess.run(command, capture_output=True, check=True)
        return certificate, key

    def _answers(self) -> bool:
        trust = create_default_context(cafile=self.ca_file) if self.ca_file else None
        try:
            with urllib.request.urlopen(self.endpoint, timeout=5, context=trust):
                return True
        except OSError:
            return False


def _require_programs() -> None:
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        raise ServerFailed(f"{', '.join(missing)} not found: run tests/servers/system_packages.sh ceph")
