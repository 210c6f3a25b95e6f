"""An archive with an intercommunicator, read with python3-otf2 as it is: definitions and messages as JSON.

  intercomm_reader.py ANCHOR
"""

import json
import sys

import otf2
from otf2.events import MpiCollectiveEnd, MpiRecv, MpiSend

with otf2.reader.open(sys.argv[1]) as trace:
    groups = {group.name: list(group.members) for group in trace.definitions.groups if group.name}
    messages = {"sent": [], "received": [], "roots": []}
    for location, event in trace.events:
        if isinstance(event, (MpiSend, MpiRecv)) and event.communicator.name == "both":
            kind, peer = ("sent", event.receiver) if isinstance(event, MpiSend) else ("received", event.sender)
            messages[kind].append([location.group.name, event.communicator.location(peer).group.name])
        if isinstance(event, MpiCollectiveEnd) and event.communicator.name == "both" and event.collective_op == otf2.CollectiveOp.BCAST:
            messages["roots"].append([location.group.name, event.root])
    comms = {comm.name: [type(comm).__name__, [trace.definitions.groups[comm.group._ref].location(i).group.name
                                               for i in range(len(comm.group.members))]]
             for comm in trace.definitions.comms if comm.name == "both"}
print(json.dumps({"comms": comms, "groups": sorted(groups), **messages}))
