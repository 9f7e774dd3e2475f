#!/usr/bin/env bash
# Installs the programs that the tests use and that no package registry carries: PostgreSQL and
# MariaDB of the distribution (the tests run on real servers), their ODBC drivers, sysbench (it runs
# on our tables, and we on its), PgBouncer (we run behind it), Maven (it downloads other versions of
# PostgreSQL), a browser (for tests of the report), the tools of ext4 (power is cut from one), a C++
# compiler (the fuzzers are C++), groff (it reads the man pages), ssh with its server (it starts
# agents on hosts), and a firewall and what makes links slow (of such hosts).
# As an ordinary user it prints the command that installs what is missing.
set -euo pipefail
# Where ldconfig and Debian's mariadbd are; not every user looks there.
PATH="$PATH:/usr/sbin:/sbin"

missing=()

need() { # package, command that tells whether it is there
    if ! bash -c "$2" >/dev/null 2>&1; then
        missing+=("$1")
    fi
}

need postgresql 'compgen -G "/usr/lib/postgresql/*/bin/postgres" || command -v postgres'
need postgresql-contrib 'compgen -G "/usr/lib/postgresql/*/bin/pgbench" || command -v pgbench'
need mariadb-server 'command -v mariadbd && command -v mariadb-install-db'
need sysbench 'command -v sysbench'
need pgbouncer 'command -v pgbouncer'
need unixodbc 'ldconfig -p | grep -F libodbc.so.2'
need odbc-postgresql 'grep -F "[PostgreSQL Unicode]" /etc/odbcinst.ini'
need libsqliteodbc 'grep -F "[SQLite3]" /etc/odbcinst.ini'
need odbc-mariadb 'grep -F "[MariaDB Unicode]" /etc/odbcinst.ini'
need maven 'command -v mvn'
need chromium 'command -v chromium'
need openssl 'command -v openssl'
need e2fsprogs 'command -v mkfs.ext4'
need g++ 'command -v c++'
need groff-base 'command -v groff'
need openssh-server 'command -v sshd'
need openssh-client 'command -v ssh'
need iptables 'command -v iptables'
need iproute2 'command -v ip && command -v tc'

[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "The tests need: ${missing[*]}. On Debian or Ubuntu:" >&2
    echo "    sudo apt-get install ${missing[*]}" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# The tests start servers in folders of their own: none is needed in the background.
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] ||
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
# MariaDB's package starts its server at once, unless a policy forbids it.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
apt-get update -qq </dev/null
apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null
