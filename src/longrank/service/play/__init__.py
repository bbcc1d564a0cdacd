"""A simulated payment desk on the real service: what ``longrank play`` starts."""

from longrank.service.play.panel import Panel as Panel
from longrank.service.play.picture import browser as browser
from longrank.service.play.picture import record as record
from longrank.service.play.traffic import Desk as Desk
