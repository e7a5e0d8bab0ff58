"""Sources of MQTT are tested where mosquitto is installed."""

from __future__ import annotations

import sys

from tests.service.connectors.mosquitto import MOSQUITTO

if MOSQUITTO is None:
    print("mosquitto is not installed (apt-get install mosquitto): MQTT is not tested", file=sys.stderr)
    collect_ignore = ["test_mqtt_source.py"]
