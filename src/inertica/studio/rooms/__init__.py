"""The rooms.  A room is one file with a `Room`: functions from a project to plain data; nothing here knows of HTTP or of pages.

A new room is such a file, its line here and its page `static/rooms/NAME.js`.  A new action or job is a function
`(project, arguments, ...) -> dict` and one line in the room's table; the server and the page reach it under
`/api/ROOM/ACTION` and `/api/ROOM/start/JOB`.
"""

from __future__ import annotations

from collections.abc import Mapping

from inertica.studio.room import Room
from inertica.studio.rooms import actuators, data, export, gains, identify, motion, payload, robot, trust

ROOMS: Mapping[str, Room] = {
    room.name: room
    for room in (
        robot.ROOM,
        motion.ROOM,
        data.ROOM,
        identify.ROOM,
        trust.ROOM,
        export.ROOM,
        gains.ROOM,
        payload.ROOM,
        actuators.ROOM,
    )
}
"""In the order of the work; what only some robots need comes last."""
