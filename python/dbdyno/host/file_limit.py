"""The limit on open files: raised as far as the system lets us, explained beyond that."""

import resource

from dbdyno.errors import DbdynoError

# What the process opens beside its connections: files, pipes, rings.
DESCRIPTORS_SPARE = 256

HOW_TO_RAISE = (
    "Raise the hard limit: `ulimit -Hn NUMBER` as root in the shell that starts dbdyno, "
    "`nofile` in /etc/security/limits.conf, LimitNOFILE= of a systemd unit, or "
    "`--ulimit nofile=NUMBER` of a container."
)


def make_room_for(clients: int) -> None:
    """Raises the soft limit so that ``clients`` connections fit; an error when they cannot."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = clients + DESCRIPTORS_SPARE
    if soft >= needed or soft == resource.RLIM_INFINITY:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise DbdynoError(
            code="file_limit",
            message=f"{clients} clients need {needed} open files, and the limit here is {hard}",
            hint=f"Use at most {max(hard - DESCRIPTORS_SPARE, 0)} clients. {HOW_TO_RAISE}",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
