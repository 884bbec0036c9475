"""MCAP files with ROS 2, ROS 1 or JSON messages, also those whose recording was cut off."""

from __future__ import annotations

import json
from contextlib import redirect_stderr
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

from inertica.errors import FileError
from inertica.logs.readers import ros
from inertica.logs.readers.guard import Unpacked, opened, package, reading
from inertica.logs.readers.jointstate import Collector, pick_topic
from inertica.logs.readers.options import ReadOptions
from inertica.logs.readers.surroundings import FieldCollector, field_collectors, tables_of
from inertica.logs.readers.table import Table

_SCHEMAS = ("ros2msg", "ros1msg", "jsonschema", "")


def read(path: Path, options: ReadOptions) -> Table:
    """Joint states of an MCAP file."""
    package("mcap.reader", "reading MCAP files", "ros")
    package("rosbags.typesys", "reading MCAP files with ROS 1 messages", "ros")
    package("mcap_ros2.decoder", "reading MCAP files with ROS 2 messages", "ros")
    from mcap.exceptions import McapError
    from rosbags.serde import SerdeError
    from rosbags.typesys import TypesysError
    from zstandard import ZstdError

    with reading(path, "MCAP file", McapError, ZstdError):
        messages, channels, broken = _scan(path, options.most_unpacked)
    topics = {ch.topic: sc.name if sc else ch.message_encoding for ch, sc in channels.values()}
    chosen = pick_topic(path, topics, options.topic)
    if any(sc and sc.encoding not in _SCHEMAS for ch, sc in channels.values() if ch.topic == chosen):
        return ros.read(path, options)  # definitions in IDL
    collector = Collector(path, chosen, options.stamps, options.joints)
    others = field_collectors(path, topics, options)
    by_topic: dict[str, Collector | FieldCollector] = {chosen: collector, **others}
    with reading(path, "MCAP file", McapError, SerdeError, TypesysError, NameError, packages=("mcap_ros2",)):
        with redirect_stderr(StringIO()):  # mcap_ros2 prints what it cannot parse
            decoders = {key: _decoder(path, *channels[key]) for key in channels if channels[key][0].topic in by_topic}
        for message in messages:
            if message.channel_id in decoders:
                to = by_topic[channels[message.channel_id][0].topic]
                to.add(decoders[message.channel_id](message.data), message.log_time)
    warnings = (f"the file breaks off after {len(collector.rows)} messages of {chosen}; later ones are lost",) if broken else ()
    return replace(collector.table("mcap", warnings), beside=tables_of(list(others.values()), "mcap"))


def _scan(path: Path, most: float | None) -> tuple[list[Any], dict[int, tuple[Any, Any]], bool]:
    """Messages in the order of recording and the channels they belong to, and whether the file breaks off.

    Records are read in sequence instead of through the index at the end, which a recording that was cut off does not have.
    """
    from mcap.exceptions import EndOfFile
    from mcap.records import Channel, Chunk, Message, Schema
    from mcap.stream_reader import StreamReader, breakup_chunk

    messages: list[Any] = []
    schemas: dict[int, Any] = {0: None}
    channels: dict[int, tuple[Any, Any]] = {}
    broken, budget = False, Unpacked(path, path.stat().st_size, most)
    with opened(path) as file:
        try:
            for whole in StreamReader(file, emit_chunks=True, validate_crcs=True).records:
                chunk = isinstance(whole, Chunk)
                for record in breakup_chunk(_unpacked(whole, budget), validate_crc=True) if chunk else (whole,):
                    if isinstance(record, Schema):
                        schemas[record.id] = record
                    elif isinstance(record, Channel):
                        channels[record.id] = (record, schemas[record.schema_id])
                    elif isinstance(record, Message):
                        messages.append(record)
        except EndOfFile:
            broken = True
    messages.sort(key=lambda message: message.log_time)
    return messages, channels, broken


def _unpacked(chunk: Any, budget: Unpacked) -> Any:
    """A chunk whose data are unpacked, by no more than the budget leaves: what frames say of their own size may be wrong."""
    if chunk.compression == "zstd":
        from zstandard import ZstdDecompressor

        data = ZstdDecompressor().stream_reader(chunk.data).read(budget.left + 1)
    elif chunk.compression == "lz4":
        from lz4.frame import LZ4FrameDecompressor  # type: ignore[import-untyped]

        data = LZ4FrameDecompressor().decompress(chunk.data, max_length=budget.left + 1)
    else:
        return chunk
    budget.take(len(data))
    return replace(chunk, compression="", data=data)


def _decoder(path: Path, channel: Any, schema: Any) -> Any:
    from mcap_ros2.decoder import DecoderFactory

    if channel.message_encoding == "json":
        return json.loads
    if channel.message_encoding == "ros1" and schema is not None and schema.encoding == "ros1msg":
        return _ros1(schema)
    if (decoder := DecoderFactory().decoder_for(channel.message_encoding, schema)) is not None:
        return decoder
    raise FileError(
        path, f"the messages on {channel.topic} are encoded as '{channel.message_encoding}'; readable are cdr, ros1 and json"
    )


def _ros1(schema: Any) -> Any:
    """A decoder of ROS 1 messages.

    That of rosbags, as for bags: its parser admits nothing but names and numbers to the types that it makes of a definition.  The
    decoder of mcap-ros1-support is never imported: it pastes names and texts of the file into a module and runs it.
    """
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    from rosbags.typesys.msg import normalize_msgtype

    store, name = get_typestore(Stores.EMPTY), normalize_msgtype(schema.name)
    store.register(get_types_from_msg(schema.data.decode("utf-8"), schema.name))
    return lambda data: store.deserialize_ros1(data, name)
