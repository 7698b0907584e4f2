drop index idempotency_keys_age;
