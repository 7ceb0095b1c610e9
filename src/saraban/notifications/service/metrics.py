"""What e-mail tells Prometheus."""

from prometheus_client import Counter

MAILS = Counter("saraban_mails_total", "Attempts to send an e-mail by outcome.", ["outcome"])
for _outcome in ("sent", "retry", "given_up"):
    MAILS.labels(_outcome)
