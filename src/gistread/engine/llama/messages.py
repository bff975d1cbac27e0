"""What the client and the worker process say to each other: one JSON object a line, in both directions.

To the worker:    load {path, options, snapshots: {directory, model} or null, first, give_up}; see `worker/loading.py`
                  load_embedder {path, pooling}           embed {id, texts, priority}
                  generate {id, prompt, sampling, priority}
                  prepare {id, prompt, priority}          hold {id, prompt, priority}
                  held {id, prompts}
                  choose {id, prompt, options, priority}  count {id, text}    measure {id, prompt}
                  score {id, prompt, continuation, priority}
                  tokenise {id, texts}
                  measure_rates {least_share}             configure {parallel}
                  cancel {id}; id 0 is the load           (end of file: the worker ends)
From the worker:  loading {fraction}                      ready {context_tokens, device, on_gpu, threads, library,
                                                                 parallel, dimension, fit, pinnable_tokens}
                  trying {number, left, notice}
                  measured {rates, parallel}; rates null: they could not be
                  failed {message, hint}                  state {phase, fraction, tokens_per_s, priority,
                                                         busy_s, decode_s, cells}
                  delta {id, text, usage}                 done {id, text, finish, usage}
                  chosen {id, index, probability, usage}  counted {id, tokens}
                  prepared {id, usage, held}              scored {id, mean, tokens, usage}
                  held {id, held}; one of a prompt
                  tokenised {id, tokens}; a list of them a text
                  embedded {id, vectors, cut, usage}; vectors as base64 of 32-bit numbers, row by row
                  refused {id, prompt_tokens, answer_tokens, context_tokens}
                  error {id, message}                     cancelled {id}
Each has its kind under `kind`.
"""

from typing import Any

import orjson

Message = dict[str, Any]

LOAD_ID = 0
"""The id under which the load of the model is cancelled."""


def encode(kind: str, **content: object) -> bytes:
    """One line."""
    return orjson.dumps({"kind": kind, **content}, option=orjson.OPT_SERIALIZE_DATACLASS) + b"\n"


def decode(line: bytes) -> Message:
    """The message of one line. Raises ValueError when it is none."""
    message = orjson.loads(line)
    if not isinstance(message, dict) or "kind" not in message:
        raise ValueError(line[:80])
    return message
