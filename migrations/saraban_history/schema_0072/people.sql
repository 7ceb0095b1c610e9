CREATE TABLE organization_roles (
  id AUTO,
  role_name CODE(20) NOT NULL,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  deleted_at MOMENT,
  PRIMARY KEY (id),
  CONSTRAINT uq_organization_roles_role_name UNIQUE (role_name)
);

CREATE TABLE organizations (
  id AUTO,
  organization_code CODE(20) NOT NULL,
  organization_name VARCHAR(255) NOT NULL,
  role_id INT,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  deleted_at MOMENT,
  uuid PUBLIC_ID,
  organization_name_en VARCHAR(255),
  PRIMARY KEY (id),
  CONSTRAINT uq_organizations_organization_code UNIQUE (organization_code),
  CONSTRAINT fk_organizations_role_id FOREIGN KEY (role_id) REFERENCES organization_roles (id) ON DELETE SET NULL,
  INDEX ix_organizations_role_id (role_id),
  UNIQUE INDEX idx_organizations_uuid (uuid)
);

CREATE TABLE users (
  user_id AUTO,
  username CODE(50) NOT NULL,
  password_hash VARCHAR(255) NOT NULL,
  first_name VARCHAR(50),
  last_name VARCHAR(50),
  email CODE(100) NOT NULL,
  line_id VARCHAR(100),
  primary_organization_id INT,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  must_change_password BOOLEAN NOT NULL DEFAULT 0,
  failed_attempts INT NOT NULL DEFAULT 0,
  locked_until MOMENT,
  last_login_at MOMENT,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  deleted_at MOMENT,
  uuid PUBLIC_ID,
  is_service BOOLEAN NOT NULL DEFAULT 0,
  draws_per_minute INT,
  PRIMARY KEY (user_id),
  CONSTRAINT uq_users_email UNIQUE (email),
  CONSTRAINT uq_users_username UNIQUE (username),
  CONSTRAINT fk_users_primary_organization_id FOREIGN KEY (primary_organization_id) REFERENCES organizations (id) ON DELETE SET NULL,
  INDEX ix_users_primary_organization_id (primary_organization_id),
  UNIQUE INDEX idx_users_uuid (uuid)
);

CREATE TABLE user_preferences (
  user_id INT NOT NULL,
  notify_email BOOLEAN NOT NULL DEFAULT 1,
  notify_line BOOLEAN NOT NULL DEFAULT 1,
  digest_mode BOOLEAN NOT NULL DEFAULT 0,
  ui_theme VARCHAR(20) NOT NULL DEFAULT 'light',
  updated_at MOMENT NOT NULL DEFAULT NOW,
  language VARCHAR(5) NOT NULL DEFAULT 'th',
  digest_hour INT NOT NULL DEFAULT 8,
  quiet_from INT,
  quiet_until INT,
  channels JSON,
  project_uuid UUID,
  PRIMARY KEY (user_id),
  CONSTRAINT fk_user_preferences_user_id FOREIGN KEY (user_id) REFERENCES users (user_id) ON DELETE CASCADE
);

CREATE TABLE user_invitations (
  id AUTO,
  user_id INT NOT NULL,
  token_hash CODE(64) NOT NULL,
  expires_at MOMENT NOT NULL,
  created_at MOMENT NOT NULL,
  updated_at MOMENT NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT uq_user_invitations_user_id UNIQUE (user_id),
  CONSTRAINT uq_user_invitations_token_hash UNIQUE (token_hash),
  CONSTRAINT fk_user_invitations_user_id FOREIGN KEY (user_id) REFERENCES users (user_id) ON DELETE CASCADE
);

CREATE TABLE refresh_tokens (
  token_id AUTO,
  user_id INT NOT NULL,
  token_hash CODE(64) NOT NULL,
  expires_at MOMENT NOT NULL,
  is_revoked BOOLEAN NOT NULL DEFAULT 0,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  replaced_by_token CODE(64),
  uuid PUBLIC_ID,
  family UUID NOT NULL,
  revoked_at MOMENT,
  device_name VARCHAR(100),
  ip_address VARCHAR(45),
  user_agent VARCHAR(255),
  last_active_at MOMENT,
  PRIMARY KEY (token_id),
  CONSTRAINT uq_refresh_tokens_token_hash UNIQUE (token_hash),
  CONSTRAINT fk_refresh_tokens_user_id FOREIGN KEY (user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  INDEX ix_refresh_tokens_user_id (user_id),
  UNIQUE INDEX idx_refresh_tokens_uuid (uuid),
  INDEX ix_refresh_tokens_family (family)
);

CREATE TABLE setup_tokens (
  id INT NOT NULL,
  token_hash CODE(64) NOT NULL,
  expires_at MOMENT NOT NULL,
  PRIMARY KEY (id)
);

CREATE TABLE roles (
  role_id AUTO,
  role_name CODE(100) NOT NULL,
  scope VARCHAR(20) NOT NULL,
  description TEXT,
  is_system BOOLEAN NOT NULL DEFAULT 0,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  deleted_at MOMENT,
  uuid PUBLIC_ID,
  role_name_en VARCHAR(100),
  project_id INT,
  PRIMARY KEY (role_id),
  CONSTRAINT uq_roles_role_name UNIQUE (role_name),
  CONSTRAINT fk_roles_project FOREIGN KEY (project_id) REFERENCES projects (id),
  UNIQUE INDEX idx_roles_uuid (uuid)
);

CREATE TABLE permissions (
  permission_id AUTO,
  permission_name CODE(100) NOT NULL,
  description TEXT,
  module VARCHAR(50),
  scope_level VARCHAR(20),
  is_active BOOLEAN NOT NULL DEFAULT 1,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  deleted_at MOMENT,
  PRIMARY KEY (permission_id),
  CONSTRAINT uq_permissions_permission_name UNIQUE (permission_name)
);

CREATE TABLE role_permissions (
  role_id INT NOT NULL,
  permission_id INT NOT NULL,
  PRIMARY KEY (role_id, permission_id),
  CONSTRAINT fk_role_permissions_role_id FOREIGN KEY (role_id) REFERENCES roles (role_id) ON DELETE CASCADE,
  CONSTRAINT fk_role_permissions_permission_id FOREIGN KEY (permission_id) REFERENCES permissions (permission_id) ON DELETE CASCADE,
  INDEX ix_role_permissions_permission_id (permission_id)
);

CREATE TABLE user_assignments (
  id AUTO,
  user_id INT NOT NULL,
  role_id INT NOT NULL,
  organization_id INT,
  project_id INT,
  contract_id INT,
  assigned_by_user_id INT,
  assigned_at MOMENT NOT NULL DEFAULT NOW,
  uuid PUBLIC_ID,
  valid_from MOMENT,
  valid_until MOMENT,
  changes_at MOMENT,
  PRIMARY KEY (id),
  CONSTRAINT chk_scope CHECK ((CASE WHEN organization_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN project_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN contract_id IS NULL THEN 0 ELSE 1 END) <= 1),
  CONSTRAINT fk_user_assignments_assigned_by_user_id FOREIGN KEY (assigned_by_user_id) REFERENCES users (user_id),
  CONSTRAINT fk_user_assignments_role_id FOREIGN KEY (role_id) REFERENCES roles (role_id) ON DELETE CASCADE,
  CONSTRAINT fk_user_assignments_organization_id FOREIGN KEY (organization_id) REFERENCES organizations (id) ON DELETE CASCADE,
  CONSTRAINT fk_user_assignments_user_id FOREIGN KEY (user_id) REFERENCES users (user_id) ON DELETE CASCADE,
  CONSTRAINT fk_user_assignments_project_id FOREIGN KEY (project_id) REFERENCES projects (id) ON DELETE CASCADE,
  CONSTRAINT fk_user_assignments_contract_id FOREIGN KEY (contract_id) REFERENCES contracts (id) ON DELETE CASCADE,
  INDEX ix_user_assignments_assigned_by_user_id (assigned_by_user_id),
  INDEX ix_user_assignments_user_id (user_id),
  INDEX ix_user_assignments_contract_id (contract_id),
  INDEX ix_user_assignments_role_id (role_id),
  INDEX ix_user_assignments_project_id (project_id),
  INDEX ix_user_assignments_organization_id (organization_id),
  UNIQUE INDEX idx_user_assignments_uuid (uuid),
  INDEX idx_user_assignments_changes_at (changes_at)
);
