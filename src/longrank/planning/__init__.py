"""Planning: from what is believed of candidates, and what the round pays, to a receipt.

A decision is ``encode -> score -> plan -> receipt``. Features encode the candidates; the rest is
:func:`decide`, a function of the learner's belief, the encoded round with its payoffs, and what the
policy adds to a mean or draws (:class:`Optimism`). :func:`follow` makes the receipt of an order
that was chosen otherwise. With costs and values for each candidate the order is planned
(:mod:`longrank.planning.priced`); of very many candidates only those that can be chosen are scored
exactly (:mod:`longrank.planning.contenders`).
"""

from longrank.planning.decision import decide, follow
from longrank.planning.exact import best_dependent
from longrank.planning.round import Greedy, Optimism, Round, scores_of

__all__ = ["Greedy", "Optimism", "Round", "best_dependent", "decide", "follow", "scores_of"]
