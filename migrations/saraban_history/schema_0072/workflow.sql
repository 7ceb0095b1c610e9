CREATE TABLE workflow_definitions (
  id CHAR(36) NOT NULL,
  workflow_code CODE(50) NOT NULL,
  version INT NOT NULL DEFAULT 1,
  description TEXT,
  dsl JSON NOT NULL,
  compiled JSON NOT NULL,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  created_by_user_id INT,
  PRIMARY KEY (id),
  CONSTRAINT uq_workflow_version UNIQUE (workflow_code, version),
  CONSTRAINT fk_wf_def_creator FOREIGN KEY (created_by_user_id) REFERENCES users (user_id),
  INDEX idx_workflow_active (workflow_code, is_active, version)
);

CREATE TABLE workflow_choices (
  id AUTO,
  project_id INT,
  reach INT NOT NULL,
  kind CODE(20) NOT NULL,
  type_code CODE(50) NOT NULL,
  workflow_code CODE(50) NOT NULL,
  chosen_by_user_id INT NOT NULL,
  created_at MOMENT NOT NULL,
  updated_at MOMENT NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT uk_wf_choice_place UNIQUE (kind, reach, type_code),
  CONSTRAINT fk_wf_choice_project FOREIGN KEY (project_id) REFERENCES projects (id),
  CONSTRAINT fk_wf_choice_chosen_by FOREIGN KEY (chosen_by_user_id) REFERENCES users (user_id),
  INDEX idx_wf_choice_code (workflow_code)
);

CREATE TABLE workflow_instances (
  id CHAR(36) NOT NULL,
  definition_id CHAR(36) NOT NULL,
  contract_id INT,
  entity_type CODE(50) NOT NULL,
  entity_id CODE(50) NOT NULL,
  current_state CODE(50) NOT NULL,
  status ENUM('ACTIVE', 'COMPLETED', 'CANCELLED', 'TERMINATED') NOT NULL DEFAULT 'ACTIVE',
  context JSON,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  version_no INT NOT NULL DEFAULT 1,
  last_transition_at MOMENT NOT NULL,
  started_by_user_id INT,
  due_on DATE,
  assigned_user_id INT,
  PRIMARY KEY (id),
  CONSTRAINT fk_wf_inst_starter FOREIGN KEY (started_by_user_id) REFERENCES users (user_id),
  CONSTRAINT fk_wf_inst_contract FOREIGN KEY (contract_id) REFERENCES contracts (id) ON DELETE SET NULL,
  CONSTRAINT fk_wf_inst_def FOREIGN KEY (definition_id) REFERENCES workflow_definitions (id) ON DELETE RESTRICT,
  CONSTRAINT fk_wf_inst_assigned FOREIGN KEY (assigned_user_id) REFERENCES users (user_id),
  INDEX idx_wf_inst_entity (entity_type, entity_id),
  INDEX idx_wf_inst_version (id, version_no),
  INDEX idx_wf_inst_contract (contract_id, entity_type, status),
  INDEX idx_wf_inst_due (due_on),
  INDEX idx_wf_inst_definition (definition_id, status, current_state)
);

CREATE TABLE workflow_histories (
  id CHAR(36) NOT NULL,
  instance_id CHAR(36) NOT NULL,
  from_state CODE(50) NOT NULL,
  to_state CODE(50) NOT NULL,
  action CODE(50) NOT NULL,
  action_by_user_id INT,
  comment TEXT,
  metadata JSON,
  created_at MOMENT NOT NULL DEFAULT NOW,
  action_by_user_uuid VARCHAR(36),
  on_behalf_of_user_id INT,
  on_behalf_of_user_uuid VARCHAR(36),
  PRIMARY KEY (id),
  CONSTRAINT fk_wf_hist_inst FOREIGN KEY (instance_id) REFERENCES workflow_instances (id) ON DELETE RESTRICT,
  CONSTRAINT fk_workflow_histories_action_by_user_id FOREIGN KEY (action_by_user_id) REFERENCES users (user_id),
  CONSTRAINT fk_wf_hist_on_behalf FOREIGN KEY (on_behalf_of_user_id) REFERENCES users (user_id),
  INDEX idx_wf_hist_instance (instance_id),
  INDEX idx_wf_hist_user (action_by_user_id)
);

CREATE TABLE workflow_branches (
  id CHAR(36) NOT NULL,
  instance_id CHAR(36) NOT NULL,
  state CODE(50) NOT NULL,
  opened_version INT NOT NULL,
  position INT NOT NULL,
  name CODE(50) NOT NULL,
  assignee_kind VARCHAR(20) NOT NULL,
  assignee_name CODE(100) NOT NULL,
  status VARCHAR(20) NOT NULL,
  answer CODE(20),
  comment TEXT,
  answered_by_user_id INT,
  answered_by_user_uuid VARCHAR(36),
  on_behalf_of_user_id INT,
  on_behalf_of_user_uuid VARCHAR(36),
  history_id CHAR(36),
  answered_at MOMENT,
  version_no INT NOT NULL,
  created_at MOMENT NOT NULL,
  updated_at MOMENT NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT uk_wf_branch_round_name UNIQUE (instance_id, opened_version, name),
  CONSTRAINT fk_wf_branch_inst FOREIGN KEY (instance_id) REFERENCES workflow_instances (id) ON DELETE RESTRICT,
  CONSTRAINT fk_wf_branch_answered_by FOREIGN KEY (answered_by_user_id) REFERENCES users (user_id),
  CONSTRAINT fk_wf_branch_on_behalf FOREIGN KEY (on_behalf_of_user_id) REFERENCES users (user_id),
  CONSTRAINT fk_wf_branch_history FOREIGN KEY (history_id) REFERENCES workflow_histories (id),
  INDEX idx_wf_branch_open (status, assignee_kind, assignee_name)
);

CREATE TABLE workflow_work_items (
  id CHAR(36) NOT NULL,
  instance_id CHAR(36) NOT NULL,
  state CODE(50) NOT NULL,
  organization_id INT,
  user_id INT,
  created_at MOMENT NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT fk_wf_item_inst FOREIGN KEY (instance_id) REFERENCES workflow_instances (id) ON DELETE RESTRICT,
  CONSTRAINT fk_wf_item_organization FOREIGN KEY (organization_id) REFERENCES organizations (id),
  CONSTRAINT fk_wf_item_user FOREIGN KEY (user_id) REFERENCES users (user_id),
  INDEX idx_wf_item_organization (organization_id, created_at, instance_id),
  INDEX idx_wf_item_user (user_id, created_at, instance_id),
  INDEX idx_wf_item_instance (instance_id)
);

CREATE TABLE delegations (
  id AUTO,
  delegator_user_id INT NOT NULL,
  delegate_user_id INT NOT NULL,
  starts_on DATE NOT NULL,
  ends_on DATE NOT NULL,
  starts_at MOMENT NOT NULL,
  ends_before MOMENT NOT NULL,
  workflow_codes JSON NOT NULL,
  project_id INT,
  reason VARCHAR(500) NOT NULL,
  version INT NOT NULL,
  revoked_at MOMENT,
  revoked_by_user_id INT,
  created_at MOMENT NOT NULL,
  updated_at MOMENT NOT NULL,
  uuid PUBLIC_ID,
  PRIMARY KEY (id),
  CONSTRAINT fk_delegations_delegate FOREIGN KEY (delegate_user_id) REFERENCES users (user_id),
  CONSTRAINT fk_delegations_delegator FOREIGN KEY (delegator_user_id) REFERENCES users (user_id),
  CONSTRAINT fk_delegations_project FOREIGN KEY (project_id) REFERENCES projects (id),
  CONSTRAINT fk_delegations_revoked_by FOREIGN KEY (revoked_by_user_id) REFERENCES users (user_id),
  UNIQUE INDEX idx_delegations_uuid (uuid),
  INDEX idx_delegations_delegate (delegate_user_id, ends_before),
  INDEX idx_delegations_delegator (delegator_user_id, ends_before)
);

CREATE TABLE review_teams (
  id AUTO,
  project_id INT NOT NULL,
  team_code CODE(50) NOT NULL,
  name_th VARCHAR(200) NOT NULL,
  name_en VARCHAR(200) NOT NULL,
  is_active BOOLEAN NOT NULL,
  created_at MOMENT NOT NULL,
  updated_at MOMENT NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT uk_review_team_project_code UNIQUE (project_id, team_code),
  CONSTRAINT fk_review_teams_project_id FOREIGN KEY (project_id) REFERENCES projects (id)
);

CREATE TABLE review_team_members (
  team_id INT NOT NULL,
  user_id INT NOT NULL,
  discipline_code CODE(10),
  member_role VARCHAR(20) NOT NULL,
  created_at MOMENT NOT NULL,
  PRIMARY KEY (team_id, user_id),
  CONSTRAINT fk_review_team_members_team_id FOREIGN KEY (team_id) REFERENCES review_teams (id),
  CONSTRAINT fk_review_team_members_user_id FOREIGN KEY (user_id) REFERENCES users (user_id)
);

CREATE TABLE attachments (
  id AUTO,
  original_filename VARCHAR(255) NOT NULL,
  stored_filename VARCHAR(255) NOT NULL,
  file_path VARCHAR(500) NOT NULL,
  mime_type VARCHAR(100) NOT NULL,
  file_size INT NOT NULL,
  is_temporary BOOLEAN NOT NULL DEFAULT 1,
  temp_id VARCHAR(100),
  uploaded_by_user_id INT NOT NULL,
  created_at MOMENT NOT NULL DEFAULT NOW,
  expires_at MOMENT,
  checksum VARCHAR(64),
  reference_date DATE,
  workflow_history_id CHAR(36),
  uuid PUBLIC_ID,
  text_due_at MOMENT,
  text_tries INT NOT NULL DEFAULT 0,
  text_problem CODE(20),
  PRIMARY KEY (id),
  CONSTRAINT fk_attachments_workflow_history_id FOREIGN KEY (workflow_history_id) REFERENCES workflow_histories (id) ON DELETE SET NULL,
  CONSTRAINT fk_attachments_uploaded_by_user_id FOREIGN KEY (uploaded_by_user_id) REFERENCES users (user_id),
  INDEX idx_attachments_temp_id (temp_id),
  INDEX idx_att_wfhist_created (workflow_history_id, created_at),
  INDEX idx_attachments_reference_date (reference_date),
  INDEX idx_attachments_temp_cleanup (is_temporary, expires_at),
  UNIQUE INDEX idx_attachments_uuid (uuid),
  INDEX idx_attachments_text_due (is_temporary, text_due_at)
);

CREATE TABLE attachment_texts (
  attachment_id INT NOT NULL,
  text LONGTEXT NOT NULL,
  extracted_at MOMENT NOT NULL,
  PRIMARY KEY (attachment_id),
  FOREIGN KEY (attachment_id) REFERENCES attachments (id)
);
