"""The disk of a folder."""

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
