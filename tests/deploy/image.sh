#!/usr/bin/env bash
# Builds the image with buildah and runs it as a cluster would: as nobody, on a read-only root, with process 1 told to end. As root.
# Without a registry: tests/deploy/image.sh makes the base from Debian first (debootstrap), else PYTHON=… names one.
set -euo pipefail
cd "$(dirname "$0")/../.."
export STORAGE_DRIVER=${STORAGE_DRIVER:-vfs} BUILDAH_ISOLATION=chroot
work=$(mktemp -d)
root=$work/root
trap 'umount -lq "$root/tmp" "$root/dev" "$root" || true' EXIT

if [[ -z ${PYTHON:-} ]]; then
  debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$work/debian"
  from=$(buildah from scratch)
  buildah copy -q "$from" "$work/debian" /
  buildah commit -q "$from" localhost/python-base
  PYTHON=localhost/python-base
fi
own=(--volume /etc/ssl/certs/ca-certificates.crt:/etc/ssl/certs/ca-certificates.crt:ro --volume /etc/resolv.conf:/etc/resolv.conf:ro)
buildah build "${own[@]}" --build-arg PYTHON="$PYTHON" -t localhost/headroom .

made=$(buildah from --pull-never localhost/headroom)
there=$(buildah mount "$made")
echo "127.0.0.1 localhost" >"$there/etc/hosts" # a runtime's doing
mkdir -p "$root"
mount --bind "$there" "$root"
mount -o remount,ro,bind "$root"
mount -t tmpfs tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
echo 'mount -t proc proc "$0/proc"; exec chroot --userspec=65532:65532 "$0" env -i PATH=/opt/headroom/bin:/usr/bin:/bin HOME=/var/lib/headroom PYTHONDONTWRITEBYTECODE=1 HEADROOM_WORKERS=2 "$@"' >"$work/in"
unshare -p -f -m sh -c "$(cat "$work/in")" "$root" headroom serve demo --dashboard --port 9443 &
outer=$!
for _ in $(seq 120); do curl -fs http://127.0.0.1:9443/readyz && break; sleep 1; done
curl -fsS -o /dev/null -w 'the first page: %{http_code}\n' http://127.0.0.1:9443/
first=$(ps -o pid= --ppid "$outer" | head -1)
echo "process 1: $(ps -o uid=,args= -p "$first")"
began=$(date +%s%N)
kill -TERM "$first"
wait "$outer" || status=$?
echo "ended ($((${status:-0}))) after $((($(date +%s%N) - began) / 1000000)) ms"
buildah rm "$made" >/dev/null
