"""Files for the tests of logs: a small motion, and the same motion written by each format's own library."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from inertica.errors import InerticaError
from inertica.logs import Log, read_log
from inertica.logs.mcap_write import JOINT_STATE

JOINTS = ("shoulder", "elbow", "wrist_1")


def outcome(path: Path) -> Log | InerticaError:
    """The log of a doubtful file, or the error of ours that it raised; any other error passes."""
    try:
        return read_log(path)
    except InerticaError as error:
        return error


def motion(n: int = 3, rows: int = 40) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """A clock with steps of 1/128 s (exact in binary and in whole ns), and q, dq, tau of n joints."""
    rng = np.random.default_rng(7)
    return np.arange(rows) / 128.0, {symbol: rng.normal(size=(rows, n)) for symbol in ("q", "dq", "tau")}


def csv_text(n: int = 2, rows: int = 6) -> str:
    """A small file in the plain form."""
    t, signals = motion(n, rows)
    names = ["t", *(f"{s}{j + 1}" for s in signals for j in range(n))]
    table = np.column_stack([t, *signals.values()])
    return ",".join(names) + "\n" + "".join(",".join(f"{x:.6g}" for x in row) + "\n" for row in table)


def ros_messages(ros1: bool, order: tuple[int, ...] = (2, 0, 1), start: int = 1_700_000_000):
    """JointState messages of the motion with the joints in another order, and the store that can write them."""
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)
    kinds = store.types
    state, header, stamp = (
        kinds[k] for k in ("sensor_msgs/msg/JointState", "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    )
    t, x = motion()
    messages = []
    for k, time in enumerate(t):
        ns = start * 10**9 + round(time * 1e9)
        at = stamp(sec=ns // 10**9, nanosec=ns % 10**9)
        head = header(stamp=at, frame_id="", seq=k) if ros1 else header(stamp=at, frame_id="")
        rows = {key: x[symbol][k, list(order)] for key, symbol in (("position", "q"), ("velocity", "dq"), ("effort", "tau"))}
        messages.append((ns, state(header=head, name=[JOINTS[j] for j in order], **rows)))
    return store, messages


def write_ros1(path: Path, topics: tuple[str, ...] = ("/joint_states",)) -> None:
    from rosbags.rosbag1 import Writer

    store, messages = ros_messages(ros1=True)
    with Writer(path) as writer:
        for topic in topics:
            connection = writer.add_connection(topic, "sensor_msgs/msg/JointState", typestore=store)
            for ns, message in messages:
                writer.write(connection, ns + 5_000_000, store.serialize_ros1(message, "sensor_msgs/msg/JointState"))


def write_ros2(path: Path, storage: str, topics: tuple[str, ...] = ("/joint_states",)) -> None:
    from rosbags.rosbag2 import StoragePlugin, Writer

    store, messages = ros_messages(ros1=False)
    plugin = StoragePlugin.MCAP if storage == "mcap" else StoragePlugin.SQLITE3
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        for topic in topics:
            connection = writer.add_connection(topic, "sensor_msgs/msg/JointState", typestore=store)
            for ns, message in messages:
                writer.write(connection, ns + 5_000_000, bytes(store.serialize_cdr(message, "sensor_msgs/msg/JointState")))


def write_mcap(path: Path, finish: bool = True, compressed: bool = True) -> None:
    """An MCAP file written by the mcap packages; without `finish` it lacks its end, as after a crash."""
    from mcap.writer import CompressionType
    from mcap_ros2.writer import Writer

    _, messages = ros_messages(ros1=False)
    with path.open("wb") as file:
        writer = Writer(file, chunk_size=1024, compression=CompressionType.ZSTD if compressed else CompressionType.NONE)
        schema = writer.register_msgdef("sensor_msgs/msg/JointState", JOINT_STATE)
        for ns, m in messages:
            stamp = {"sec": m.header.stamp.sec, "nanosec": m.header.stamp.nanosec}
            body = {"header": {"stamp": stamp, "frame_id": ""}, "name": list(m.name)}
            body |= {key: getattr(m, key).tolist() for key in ("position", "velocity", "effort")}
            writer.write_message("/joint_states", schema, body, log_time=ns + 5_000_000, publish_time=ns)
        if finish:
            writer.finish()


def write_mcap_ros1(path: Path, name: str = "sensor_msgs/JointState", definition: str | None = None) -> None:
    """An MCAP file with messages of ROS 1; its schema may be stated otherwise."""
    from mcap.writer import Writer

    store, messages = ros_messages(ros1=True)
    text = store.generate_msgdef("sensor_msgs/msg/JointState")[0] if definition is None else definition
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        channel = writer.register_channel("/joint_states", "ros1", writer.register_schema(name, "ros1msg", text.encode()))
        for ns, message in messages:
            data = bytes(store.serialize_ros1(message, "sensor_msgs/msg/JointState"))
            writer.add_message(channel, log_time=ns + 5_000_000, publish_time=ns, data=data)
        writer.finish()


def write_mcap_json(path: Path) -> None:
    from mcap.writer import Writer

    _, messages = ros_messages(ros1=False)
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema("sensor_msgs/JointState", "jsonschema", b"{}")
        channel = writer.register_channel("/joint_states", "json", schema)
        for ns, m in messages:
            body = {"header": {"stamp": {"sec": m.header.stamp.sec, "nsec": m.header.stamp.nanosec}}, "name": list(m.name)}
            body |= {key: getattr(m, key).tolist() for key in ("position", "velocity", "effort")}
            writer.add_message(channel, log_time=ns, publish_time=ns, data=json.dumps(body).encode())
        writer.finish()


def write_lerobot(folder: Path, version: str, names: object, episodes: int = 2) -> None:
    """A dataset whose episode e is the motion plus e."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    t, x = motion()
    features = {
        "observation.state": {"dtype": "float32", "shape": [3], "names": names},
        "observation.velocity": {"dtype": "float32", "shape": [3], "names": names},
        "observation.effort": {"dtype": "float32", "shape": [3], "names": names},
        "action": {"dtype": "float32", "shape": [3], "names": names},
        "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    }
    (folder / "meta").mkdir(parents=True)
    (folder / "meta" / "info.json").write_text(json.dumps({"codebase_version": version, "fps": 128, "features": features}))
    tables = []
    for e in range(episodes):
        column = {"timestamp": t.astype(np.float32), "frame_index": np.arange(len(t)), "episode_index": np.full(len(t), e)}
        data = {key: pa.array(values) for key, values in column.items()}
        for key, symbol in (
            ("observation.state", "q"),
            ("observation.velocity", "dq"),
            ("observation.effort", "tau"),
            ("action", "q"),
        ):
            data[key] = pa.array((x[symbol] + e).astype(np.float32).tolist(), pa.list_(pa.float32(), 3))
        tables.append(pa.table(data))
    chunk = folder / "data" / "chunk-000"
    chunk.mkdir(parents=True)
    if version.startswith("v3"):
        pq.write_table(pa.concat_tables(tables), chunk / "file-000.parquet")
    else:
        for e, table in enumerate(tables):
            pq.write_table(table, chunk / f"episode_{e:06d}.parquet")
