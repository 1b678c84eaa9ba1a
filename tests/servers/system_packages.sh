#!/bin/sh
# Installs the Debian packages that the servers and the browser of the tests need, and only what is missing.
# Usage: system_packages.sh GROUP...   GROUP is one of: postgres, ceph, chromium
set -eu

packages_of() {
    case $1 in
        postgres) echo postgresql ;;
        ceph) echo radosgw ceph-mon ceph-osd ceph-common openssl ;;
        chromium) echo chromium ;;
        *) echo "$0: no group is called '$1'; there are postgres, ceph and chromium" >&2; return 2 ;;
    esac
}

is_installed() {
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=
for group in "$@"; do
    packages=$(packages_of "$group")
    for package in $packages; do
        is_installed "$package" || missing="$missing $package"
    done
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
    as_root=sudo
else
    echo "$0: please install these packages as root:$missing" >&2
    exit 1
fi

echo "installing$missing" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The packages' own services would take ports and memory: the tests start private servers instead.
install() {
    $as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
        apt-get install --yes --quiet --no-install-recommends $missing >"$log" 2>&1
}
install || { $as_root apt-get update --quiet >"$log" 2>&1 && install; } || { cat "$log" >&2; exit 1; }
