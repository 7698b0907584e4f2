-- Idempotency keys are forgotten in the order in which their jobs came (limits::kIdempotencyKeysKeptMs). Job numbers
-- only grow, so a new entry always goes to the index's right end, which is cheap.
create index idempotency_keys_age on idempotency_keys (job_id);
