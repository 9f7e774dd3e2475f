"""The disk of a folder, and the devices below it: partitions, volumes, containers, memory."""

import os
from pathlib import Path

from dbdyno.host import disk


def test_the_deepest_mount_and_the_disk_of_its_partition(tree):
    root = tree(
        {
            "proc/self/mounts": "/dev/sda1 / ext4 rw 0 0\n"
            "/dev/nvme0n1p2 /da\\040ta xfs rw,noatime 0 0\n",
            "sys/block/nvme0n1/queue/rotational": "0",
            "sys/block/nvme0n1/queue/scheduler": "[none] mq-deadline",
            "sys/block/nvme0n1/nvme0n1p2/partition": "2",
        }
    )
    links = root / "sys/class/block"
    links.mkdir(parents=True)
    (links / "nvme0n1p2").symlink_to(root / "sys/block/nvme0n1/nvme0n1p2")

    found = disk.describe(root, Path("/da ta/pg"))

    assert found is not None
    assert (found.mount_point, found.file_system) == ("/da ta", "xfs")
    assert found.rotational is False
    assert found.scheduler == "none"


def test_a_file_system_without_a_device(tree):
    root = tree({"proc/self/mounts": "overlay / overlay rw 0 0\n"})
    found = disk.describe(root, Path("/nowhere/yet"))
    assert found is not None
    assert (found.device, found.scheduler, found.rotational) == ("overlay", None, None)
    assert found.free_bytes > 0


def number_of(folder: Path) -> str:
    device = folder.stat().st_dev
    return f"{os.major(device)}:{os.minor(device)}"


def machine(tree, link_to: str, *more: str) -> Path:
    """Return a host on which the temporary folder is on one of these block disk."""
    root = tree({f"{path}/size": "1" for path in (link_to, *more)})
    links = root / "sys/dev/block"
    links.mkdir(parents=True)
    (links / number_of(root)).symlink_to(root / link_to)
    return root


def test_a_partition_stands_for_its_disk(tree):
    root = machine(tree, "sys/devices/nvme0n1/nvme0n1p2", "sys/devices/nvme0n1")
    tree({"sys/devices/nvme0n1/nvme0n1p2/partition": "2"})
    assert disk.disks_below(root, [root]) == {"nvme0n1"}


def test_an_encrypted_volume_of_two_disks(tree):
    root = machine(tree, "sys/devices/dm-1", "sys/devices/dm-0", "sys/devices/sda/sda3")
    tree({"sys/devices/sda/sda3/partition": "3", "sys/devices/sdb/size": "1"})
    for upper, lower in [("dm-1", "dm-0"), ("dm-0", "sda/sda3"), ("dm-0", "sdb")]:
        slaves = root / "sys/devices" / upper / "slaves"
        slaves.mkdir(exist_ok=True)
        (slaves / Path(lower).name).symlink_to(root / "sys/devices" / lower)
    assert disk.disks_below(root, [root]) == {"sda", "sdb"}


def mounted(tree, fields: str) -> Path:
    root = tree({})
    line = f"36 35 {number_of(root)} / /data rw - {fields} rw\n"
    tree({"proc/self/mountinfo": f"1 0 9:9 / / rw - ext4 /dev/x rw\n{line}"})
    return tree({"sys/block/vda/device/vendor": "", "sys/block/loop0/size": "1"})


def test_a_container_that_hides_its_devices_is_watched_on_all_disks(tree):
    root = mounted(tree, "overlay overlay")
    assert disk.disks_below(root, [root]) == {"vda"}


def test_a_file_system_with_a_number_of_its_own_names_its_device(tree):
    root = mounted(tree, "btrfs /dev/sdc1")
    tree({"sys/devices/sdc/sdc1/partition": "1"})
    (root / "sys/class/block").mkdir(parents=True)
    (root / "sys/class/block/sdc1").symlink_to(root / "sys/devices/sdc/sdc1")
    assert disk.disks_below(root, [root]) == {"sdc"}


def test_memory_has_no_disk(tree):
    root = mounted(tree, "tmpfs tmpfs")
    assert disk.disks_below(root, [root]) == set()


def test_a_log_that_lies_elsewhere_is_found_by_its_link(tree):
    elsewhere = Path("/proc")  # another file system, on any Linux
    root = tree({"data/base/1": ""})
    (root / "data/log").symlink_to(elsewhere)
    numbers = disk._device_numbers(root / "data", 2)
    assert numbers >= {number_of(root), number_of(elsewhere)}
    (root / "data/log").unlink()
    (root / "data/log").symlink_to(elsewhere / "version")  # a file
    assert disk._device_numbers(root / "data", 2) == numbers


def test_a_folder_that_may_not_be_seen(tree):
    assert disk.disks_below(tree({}), [Path("/nowhere/at/all")]) == set()
