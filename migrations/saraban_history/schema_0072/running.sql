CREATE TABLE notifications (
  id AUTO,
  user_id INT NOT NULL,
  title VARCHAR(255) NOT NULL,
  message TEXT NOT NULL,
  notification_type ENUM('EMAIL', 'LINE', 'SYSTEM') NOT NULL,
  is_read BOOLEAN NOT NULL DEFAULT 0,
  entity_type VARCHAR(50),
  entity_id VARCHAR(50),
  created_at MOMENT NOT NULL DEFAULT NOW,
  uuid PUBLIC_ID,
  template VARCHAR(50) NOT NULL DEFAULT 'plain',
  template_values JSON NOT NULL,
  event_uuid UUID,
  YEARLY_KEY(id),
  INDEX idx_notifications_uuid (uuid),
  INDEX idx_notifications_entity (entity_type, entity_id),
  INDEX idx_notifications_user_unread (user_id, is_read, created_at),
  INDEX idx_notifications_created_at (created_at),
  INDEX idx_notifications_event (event_uuid, user_id)
);

CREATE TABLE notification_mails (
  id BIGAUTO,
  user_id INT NOT NULL,
  event_uuid UUID NOT NULL,
  template VARCHAR(50) NOT NULL,
  template_values JSON NOT NULL,
  entity_type VARCHAR(50),
  entity_id VARCHAR(50),
  bundle CODE(100) NOT NULL,
  created_at MOMENT NOT NULL,
  due_at MOMENT NOT NULL,
  batch_uuid UUID,
  claimed_until MOMENT,
  attempts INT NOT NULL DEFAULT 0,
  sent_at MOMENT,
  given_up_at MOMENT,
  last_error VARCHAR(500),
  PRIMARY KEY (id),
  CONSTRAINT uq_notification_mails_event_user UNIQUE (event_uuid, user_id),
  CONSTRAINT fk_notification_mails_user_id FOREIGN KEY (user_id) REFERENCES users (user_id),
  INDEX idx_notification_mails_due (sent_at, given_up_at, due_at),
  INDEX idx_notification_mails_bundle (user_id, bundle),
  INDEX idx_notification_mails_batch (batch_uuid)
);

CREATE TABLE reminder_plans (
  project_id INT NOT NULL,
  days_before JSON NOT NULL,
  days_after JSON NOT NULL,
  every_days INT,
  at_hour INT NOT NULL,
  updated_by_user_id INT NOT NULL,
  updated_at MOMENT NOT NULL,
  PRIMARY KEY (project_id),
  CONSTRAINT fk_reminder_plans_project_id FOREIGN KEY (project_id) REFERENCES projects (id),
  CONSTRAINT fk_reminder_plans_updated_by_user_id FOREIGN KEY (updated_by_user_id) REFERENCES users (user_id)
);

CREATE TABLE reminders_sent (
  subject_uuid UUID NOT NULL,
  due_day DATE NOT NULL,
  stage INT NOT NULL,
  sent_at MOMENT NOT NULL,
  PRIMARY KEY (subject_uuid, due_day, stage)
);

CREATE TABLE webhooks (
  id AUTO,
  project_id INT,
  user_id INT NOT NULL,
  url VARCHAR(500) NOT NULL,
  description VARCHAR(200) NOT NULL,
  event_names JSON NOT NULL,
  is_active BOOLEAN NOT NULL,
  secret VARCHAR(100) NOT NULL,
  version INT NOT NULL,
  created_at MOMENT NOT NULL,
  updated_at MOMENT NOT NULL,
  uuid PUBLIC_ID,
  topics JSON,
  earlier_secrets JSON,
  failing_since MOMENT,
  given_up INT NOT NULL DEFAULT 0,
  off_because VARCHAR(20),
  PRIMARY KEY (id),
  CONSTRAINT fk_webhooks_user_id FOREIGN KEY (user_id) REFERENCES users (user_id),
  CONSTRAINT fk_webhooks_project_id FOREIGN KEY (project_id) REFERENCES projects (id),
  UNIQUE INDEX idx_webhooks_uuid (uuid),
  INDEX idx_webhooks_project (project_id, created_at)
);

CREATE TABLE webhook_outcomes (
  id BIGAUTO,
  webhook_id INT NOT NULL,
  event_uuid UUID NOT NULL,
  name VARCHAR(100) NOT NULL,
  delivered BOOLEAN NOT NULL,
  status INT,
  error VARCHAR(50),
  milliseconds INT NOT NULL,
  created_at MOMENT NOT NULL,
  uuid PUBLIC_ID,
  PRIMARY KEY (id),
  CONSTRAINT fk_webhook_outcomes_webhook_id FOREIGN KEY (webhook_id) REFERENCES webhooks (id) ON DELETE CASCADE,
  UNIQUE INDEX idx_webhook_outcomes_uuid (uuid),
  INDEX idx_webhook_outcomes_webhook (webhook_id, created_at),
  INDEX ix_webhook_outcomes_created_at (created_at)
);

CREATE TABLE outbox_events (
  id BIGAUTO,
  uuid PUBLIC_ID,
  name VARCHAR(100) NOT NULL,
  aggregate_type VARCHAR(50) NOT NULL,
  aggregate_id VARCHAR(50) NOT NULL,
  payload JSON NOT NULL,
  created_at MOMENT NOT NULL,
  available_at MOMENT NOT NULL,
  attempts INT NOT NULL DEFAULT 0,
  claimed_until MOMENT,
  claimed_by VARCHAR(64),
  delivered_at MOMENT,
  last_error VARCHAR(500),
  PRIMARY KEY (id),
  UNIQUE INDEX idx_outbox_events_uuid (uuid),
  INDEX idx_outbox_events_claim (delivered_at, available_at),
  INDEX idx_outbox_events_aggregate (aggregate_type, aggregate_id, delivered_at)
);

CREATE TABLE dead_letters (
  id BIGAUTO,
  uuid PUBLIC_ID,
  event_uuid UUID NOT NULL,
  queue VARCHAR(50) NOT NULL,
  name VARCHAR(100) NOT NULL,
  aggregate_type VARCHAR(50) NOT NULL,
  aggregate_id VARCHAR(50) NOT NULL,
  data JSON NOT NULL,
  attempts INT NOT NULL,
  error VARCHAR(500) NOT NULL,
  recorded_at MOMENT NOT NULL,
  failed_at MOMENT NOT NULL,
  notified_at MOMENT,
  PRIMARY KEY (id),
  UNIQUE INDEX idx_dead_letters_uuid (uuid),
  INDEX ix_dead_letters_event_uuid (event_uuid),
  INDEX ix_dead_letters_failed_at (failed_at),
  INDEX ix_dead_letters_notified_at (notified_at)
);

CREATE TABLE idempotency_keys (
  id AUTO,
  user_uuid UUID NOT NULL,
  idempotency_key CODE(128) NOT NULL,
  operation VARCHAR(80) NOT NULL,
  payload_hash VARCHAR(64) NOT NULL,
  claim UUID NOT NULL,
  locked_until MOMENT NOT NULL,
  expires_at MOMENT NOT NULL,
  resource_kind VARCHAR(40),
  resource_uuid UUID,
  outcome VARCHAR(2000),
  completed_at MOMENT,
  PRIMARY KEY (id),
  INDEX idx_idempotency_keys_expires (expires_at),
  UNIQUE INDEX idx_idempotency_keys_user_key (user_uuid, idempotency_key)
);

CREATE TABLE audit_logs (
  audit_id BIGAUTO,
  request_id VARCHAR(100),
  user_id INT,
  action VARCHAR(100) NOT NULL,
  severity ENUM('INFO', 'WARN', 'ERROR', 'CRITICAL') NOT NULL DEFAULT 'INFO',
  entity_type VARCHAR(50),
  entity_id VARCHAR(50),
  details_json JSON,
  ip_address VARCHAR(45),
  user_agent VARCHAR(255),
  created_at MOMENT NOT NULL DEFAULT NOW,
  uuid PUBLIC_ID,
  actor_uuid UUID,
  YEARLY_KEY(audit_id),
  INDEX idx_audit_logs_entity (entity_type, entity_id),
  INDEX idx_audit_request_id (request_id),
  INDEX idx_audit_logs_uuid (uuid),
  INDEX idx_audit_logs_user (user_id, created_at, uuid),
  INDEX idx_audit_logs_action (action, created_at, uuid),
  INDEX idx_audit_logs_created_at (created_at, uuid),
  INDEX idx_audit_logs_object (entity_id, created_at, uuid),
  INDEX idx_audit_logs_kind (entity_type, created_at, uuid)
);

CREATE TABLE audit_blocks (
  id BIGAUTO,
  journal VARCHAR(20) NOT NULL,
  number INT NOT NULL,
  kind VARCHAR(10) NOT NULL,
  last_id BIGINT NOT NULL,
  row_count INT NOT NULL,
  rows_digest VARCHAR(64) NOT NULL,
  previous_head VARCHAR(64) NOT NULL,
  head VARCHAR(64) NOT NULL,
  first_at MOMENT NOT NULL,
  last_at MOMENT NOT NULL,
  sealed_at MOMENT NOT NULL,
  purged_first INT,
  purged_last INT,
  row_list MEDIUMBLOB,
  uuid PUBLIC_ID,
  PRIMARY KEY (id),
  CONSTRAINT ck_audit_blocks_kind CHECK (kind IN ('SEAL', 'PURGE')),
  UNIQUE INDEX idx_audit_blocks_uuid (uuid),
  UNIQUE INDEX idx_audit_blocks_number (journal, number)
);

CREATE TABLE search_index (
  id INT NOT NULL,
  PRIMARY KEY (id)
);

CREATE TABLE search_pending (
  id BIGAUTO,
  kind SMALLINT NOT NULL,
  head_uuid UUID NOT NULL,
  PRIMARY KEY (id)
);

CREATE TABLE search_entries (
  id AUTO,
  kind SMALLINT NOT NULL,
  head_id INT NOT NULL,
  revision_id INT NOT NULL,
  is_posted BOOLEAN NOT NULL DEFAULT 0,
  number EXACT_TEXT NOT NULL,
  text EXACT_TEXT NOT NULL,
  has_file_text BOOLEAN NOT NULL DEFAULT 0,
  PRIMARY KEY (id),
  CONSTRAINT uq_search_entries_revision UNIQUE (kind, head_id, revision_id),
  INDEX ix_search_entries_posted (is_posted)
);

CREATE TABLE search_file_texts (
  entry_id INT NOT NULL,
  text EXACT_TEXT NOT NULL,
  PRIMARY KEY (entry_id)
);

CREATE TABLE search_postings (
  gram CODE(3) NOT NULL,
  chunk INT NOT NULL,
  entries INT NOT NULL,
  places MEDIUMBLOB NOT NULL,
  PRIMARY KEY (gram, chunk)
);
