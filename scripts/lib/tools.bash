# What the checks need of the machine, and how to get it.

readonly CARGO_DENY_VERSION=0.20.2

# A shell without a login profile has neither cargo's programs nor, for an ordinary user, mkfs and losetup in its path.
PATH=$PATH:${CARGO_HOME:-${HOME:-}/.cargo}/bin:/usr/sbin:/sbin

have() {
    command -v "$1" >/dev/null
}

# gcc answers with the bare name for a file that it does not have.
have_static_libc() {
    have cc && [[ $(cc -print-file-name=libc.a) == /* ]]
}

# Debian packages that are missing, with what they are missed for.
missing_packages() {
    have mkfs.ext4 || echo "e2fsprogs tests on ext4"
    have mkfs.xfs || echo "xfsprogs tests on xfs"
    have mkfs.btrfs || echo "btrfs-progs tests on btrfs"
    have bindfs || echo "bindfs tests on a file system in user space"
    { have losetup && have mount; } || echo "mount tests on a file system of their own"
    have man || echo "man-db the layout of the manual pages"
    have mandoc || echo "mandoc errors of the manual pages"
    have zsh || echo "zsh its completions"
    have fish || echo "fish its completions"
    have fio || echo "fio import of its files"
    have dbench || echo "dbench import of its files"
    have hyperfine || echo "hyperfine import of its files"
    have stress-ng || echo "stress-ng import of its files"
    have perf || echo "linux-perf import of its files, counts beside the tracer's"
    have chromium || echo "chromium HTML reports in a browser"
    { have node && have npm; } || echo "npm HTML reports in a browser"
    have qemu-system-x86_64 || echo "qemu-system-x86 guests"
    have xz || echo "xz-utils guests"
    have mkfs.btrfs || echo "btrfs-progs guests"
    { have cc && have readelf; } || echo "gcc linking"
    have c++ || echo "g++ fuzzing of import formats"
    have_static_libc || echo "libc6-dev linking, the static binary"
}

# Installs missing packages where that is allowed; what stays missing is skipped with the reason.
install_packages() {
    local missing package purpose why=
    missing=$(missing_packages)
    if [[ -z $missing ]]; then
        return
    fi
    if ! have apt-get; then
        why="is not installed, and there is no apt-get"
    elif ((EUID != 0)); then
        why="is not installed, and only root may do that"
    elif ! apt-get -qq update; then
        why="is not installed, and apt-get update failed"
    fi
    # One by one, so that one which cannot be had does not keep the others out.
    while read -r package purpose; do
        if [[ -n $why ]]; then
            skip "$purpose" "$package $why"
            continue
        fi
        echo "installing $package"
        if ! DEBIAN_FRONTEND=noninteractive \
            apt-get -qq install -y --no-install-recommends "$package" </dev/null >/dev/null; then
            skip "$purpose" "$package could not be installed"
        fi
    done <<<"$missing"
}

install_cargo_deny() {
    if have cargo-deny; then
        return
    fi
    echo "building cargo-deny $CARGO_DENY_VERSION; that takes minutes, once"
    cargo install --quiet --locked cargo-deny --version "$CARGO_DENY_VERSION" ||
        echo "cargo-deny could not be installed"
}
