"""ROS 1 bags and ROS 2 bags (SQLite or MCAP storage) through rosbags."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path

from inertica.logs.readers.guard import package, reading
from inertica.logs.readers.jointstate import Collector, pick_topic
from inertica.logs.readers.options import ReadOptions
from inertica.logs.readers.surroundings import FieldCollector, field_collectors, tables_of
from inertica.logs.readers.table import Table


def read(path: Path, options: ReadOptions) -> Table:
    """Joint states of a bag: a .bag file, a ROS 2 folder, or one of its storage files; where wanted what moves the base, too."""
    package("rosbags.highlevel", "reading ROS bags", "ros")
    import apsw
    from rosbags.highlevel import AnyReader, AnyReaderError
    from rosbags.rosbag1 import ReaderError as Ros1Error
    from rosbags.rosbag2 import ReaderError as Ros2Error
    from rosbags.serde import SerdeError
    from rosbags.typesys import Stores, TypesysError, get_typestore

    form = "ros1" if path.suffix == ".bag" else "ros2"
    what = "ROS 1 bag" if form == "ros1" else "ROS 2 bag"
    reader_errors = (AnyReaderError, Ros1Error, Ros2Error, SerdeError, TypesysError, apsw.Error, _zstd_error())
    # recordings before ROS 2 Iron carry no message definitions; those of JointState have not changed since
    store = get_typestore(Stores.ROS2_HUMBLE)
    with reading(path, what, *reader_errors), AnyReader([path], default_typestore=store) as reader:
        topics = {c.topic: c.msgtype for c in reader.connections}
        chosen = pick_topic(path, topics, options.topic)
        collector = Collector(path, chosen, options.stamps, options.joints)
        others = field_collectors(path, topics, options)
        by_topic: dict[str, Collector | FieldCollector] = {chosen: collector, **others}
        connections = [c for c in reader.connections if c.topic in by_topic]
        for connection, received, raw in reader.messages(connections=connections):
            by_topic[connection.topic].add(reader.deserialize(raw, connection.msgtype), received)
        announced = sum(c.msgcount for c in connections if c.topic == chosen)
        read = len(collector.rows) + collector.others
        lost = (f"{chosen} should have {announced} messages, {read} could be read",) if read != announced else ()
        return replace(collector.table(form, lost), beside=tables_of(list(others.values()), form))


def _zstd_error() -> type[Exception]:
    """The error of the decompressor that rosbags uses: of the standard library from Python 3.14 on, of its backport before."""
    home = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    error: type[Exception] = importlib.import_module(home).ZstdError
    return error
