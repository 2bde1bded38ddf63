# Builds the file system of a sandbox, moves into it, and becomes the command after "--".
# Arguments: the staging folder, bytes of a writable folder, system folders, folders to show.
set -eu
umask 022
staged=$1 size=$2 system=$3
shift 3
root=$staged/root

show() { # SOURCE FOLDER: read-only
    mkdir -p "$root$2"
    mount --bind "$1" "$root$2"
    mount -o remount,bind,ro,nosuid,nodev "$root$2"
}
writable() { # FOLDER
    mkdir -p "$root$1"
    mount -t tmpfs -o "size=$size,mode=1777,nosuid,nodev" sandbox "$root$1"
}

mount -t tmpfs -o size=1m,mode=0755,nosuid,nodev sandbox "$root"
show /usr /usr
for name in $system; do
    if [ -L "/$name" ]; then
        ln -s "$(readlink "/$name")" "$root/$name"
    elif [ -d "/$name" ]; then
        show "/$name" "/$name"
    fi
done
mkdir "$root/dev" "$root/proc"
for device in null zero full random urandom; do
    : >"$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
ln -s /proc/self/fd/0 "$root/dev/stdin"
ln -s /proc/self/fd/1 "$root/dev/stdout"
ln -s /proc/self/fd/2 "$root/dev/stderr"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
writable /dev/shm
writable /tmp
writable /box
show "$staged/etc" /etc
show "$staged/files" /files
while [ "$1" != -- ]; do
    show "$1" "$1"
    shift
done
shift

# Both are those of the new namespaces, and a convenience: a loopback of its own, and a name.
ip link set lo up 2>/dev/null || ifconfig lo up 2>/dev/null || true
echo box 2>/dev/null >"$root/proc/sys/kernel/hostname" || true

mount -o remount,bind,ro,nosuid,nodev "$root"
cd "$root"
pivot_root . .
umount -l .
cd /
exec "$@"
