CREATE TABLE projects (
  id AUTO,
  project_code CODE(50) NOT NULL,
  project_name VARCHAR(255) NOT NULL,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  is_sandbox BOOLEAN NOT NULL DEFAULT 0,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  deleted_at MOMENT,
  uuid PUBLIC_ID,
  project_name_en VARCHAR(255),
  PRIMARY KEY (id),
  CONSTRAINT uq_projects_project_code UNIQUE (project_code),
  UNIQUE INDEX idx_projects_uuid (uuid)
);

CREATE TABLE project_organizations (
  project_id INT NOT NULL,
  organization_id INT NOT NULL,
  role_in_project CODE(20) NOT NULL DEFAULT 'OTHER',
  PRIMARY KEY (project_id, organization_id),
  CONSTRAINT fk_project_organizations_project_id FOREIGN KEY (project_id) REFERENCES projects (id),
  CONSTRAINT fk_project_organizations_organization_id FOREIGN KEY (organization_id) REFERENCES organizations (id)
);

CREATE TABLE project_calendars (
  project_id INT NOT NULL,
  weekend VARCHAR(100) NOT NULL,
  updated_by_user_id INT NOT NULL,
  updated_at MOMENT NOT NULL,
  PRIMARY KEY (project_id),
  CONSTRAINT fk_project_calendars_project_id FOREIGN KEY (project_id) REFERENCES projects (id),
  CONSTRAINT fk_project_calendars_updated_by_user_id FOREIGN KEY (updated_by_user_id) REFERENCES users (user_id)
);

CREATE TABLE project_days (
  project_id INT NOT NULL,
  day DATE NOT NULL,
  is_working BOOLEAN NOT NULL,
  name_th VARCHAR(200) NOT NULL,
  name_en VARCHAR(200) NOT NULL,
  created_by_user_id INT NOT NULL,
  created_at MOMENT NOT NULL,
  PRIMARY KEY (project_id, day),
  CONSTRAINT fk_project_days_project_id FOREIGN KEY (project_id) REFERENCES projects (id),
  CONSTRAINT fk_project_days_created_by_user_id FOREIGN KEY (created_by_user_id) REFERENCES users (user_id)
);

CREATE TABLE contracts (
  id AUTO,
  project_id INT NOT NULL,
  contract_code CODE(50) NOT NULL,
  contract_name VARCHAR(255) NOT NULL,
  description TEXT,
  start_date DATE,
  end_date DATE,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  deleted_at MOMENT,
  uuid PUBLIC_ID,
  contract_name_en VARCHAR(255),
  PRIMARY KEY (id),
  CONSTRAINT uq_contracts_contract_code UNIQUE (contract_code),
  CONSTRAINT fk_contracts_project_id FOREIGN KEY (project_id) REFERENCES projects (id),
  INDEX idx_contracts_project (project_id),
  UNIQUE INDEX idx_contracts_uuid (uuid)
);

CREATE TABLE contract_organizations (
  contract_id INT NOT NULL,
  organization_id INT NOT NULL,
  role_in_contract VARCHAR(100),
  PRIMARY KEY (contract_id, organization_id),
  CONSTRAINT fk_contract_organizations_contract_id FOREIGN KEY (contract_id) REFERENCES contracts (id),
  CONSTRAINT fk_contract_organizations_organization_id FOREIGN KEY (organization_id) REFERENCES organizations (id),
  INDEX idx_contract_organizations_organization (organization_id)
);

CREATE TABLE disciplines (
  id AUTO,
  contract_id INT NOT NULL,
  discipline_code CODE(10) NOT NULL,
  code_name_th VARCHAR(255),
  code_name_en VARCHAR(255),
  is_active BOOLEAN NOT NULL DEFAULT 1,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  sort_order INT NOT NULL DEFAULT 0,
  PRIMARY KEY (id),
  CONSTRAINT uk_discipline_contract UNIQUE (contract_id, discipline_code),
  CONSTRAINT fk_disciplines_contract_id FOREIGN KEY (contract_id) REFERENCES contracts (id),
  INDEX idx_disciplines_order (contract_id, sort_order, discipline_code)
);

CREATE TABLE correspondence_types (
  id AUTO,
  type_code CODE(50) NOT NULL,
  type_name VARCHAR(255) NOT NULL,
  sort_order INT NOT NULL DEFAULT 0,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  deleted_at MOMENT,
  type_name_en VARCHAR(255),
  PRIMARY KEY (id),
  CONSTRAINT uq_correspondence_types_type_code UNIQUE (type_code)
);

CREATE TABLE correspondence_sub_types (
  id AUTO,
  contract_id INT NOT NULL,
  correspondence_type_id INT NOT NULL,
  sub_type_code CODE(20) NOT NULL,
  sub_type_name VARCHAR(255),
  sub_type_number CODE(10),
  created_at MOMENT NOT NULL DEFAULT NOW,
  sub_type_name_en VARCHAR(255),
  sort_order INT NOT NULL DEFAULT 0,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  PRIMARY KEY (id),
  CONSTRAINT uk_sub_types_contract_type_code UNIQUE (contract_id, correspondence_type_id, sub_type_code),
  CONSTRAINT fk_correspondence_sub_types_correspondence_type_id FOREIGN KEY (correspondence_type_id) REFERENCES correspondence_types (id),
  CONSTRAINT fk_correspondence_sub_types_contract_id FOREIGN KEY (contract_id) REFERENCES contracts (id),
  INDEX idx_correspondence_sub_types_order (contract_id, sort_order, sub_type_code)
);

CREATE TABLE correspondence_status (
  id AUTO,
  status_code CODE(50) NOT NULL,
  status_name VARCHAR(255) NOT NULL,
  sort_order INT NOT NULL DEFAULT 0,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  status_name_en VARCHAR(255),
  PRIMARY KEY (id),
  CONSTRAINT uq_correspondence_status_status_code UNIQUE (status_code)
);

CREATE TABLE rfa_types (
  id AUTO,
  contract_id INT NOT NULL,
  type_code CODE(20) NOT NULL,
  type_name_th VARCHAR(100) NOT NULL,
  type_name_en VARCHAR(100) NOT NULL,
  remark TEXT,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  sort_order INT NOT NULL DEFAULT 0,
  items VARCHAR(10) NOT NULL DEFAULT 'optional',
  PRIMARY KEY (id),
  CONSTRAINT uk_rfa_types_contract_code UNIQUE (contract_id, type_code),
  CONSTRAINT fk_rfa_types_contract_id FOREIGN KEY (contract_id) REFERENCES contracts (id),
  INDEX idx_rfa_types_order (contract_id, sort_order, type_code)
);

CREATE TABLE rfa_status_codes (
  id AUTO,
  status_code CODE(20) NOT NULL,
  status_name VARCHAR(100) NOT NULL,
  description TEXT,
  sort_order INT NOT NULL DEFAULT 0,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  status_name_en VARCHAR(100),
  PRIMARY KEY (id),
  CONSTRAINT uq_rfa_status_codes_status_code UNIQUE (status_code)
);

CREATE TABLE rfa_approve_codes (
  id AUTO,
  approve_code CODE(20) NOT NULL,
  approve_name VARCHAR(100) NOT NULL,
  description TEXT,
  sort_order INT NOT NULL DEFAULT 0,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  approve_name_en VARCHAR(100),
  PRIMARY KEY (id),
  CONSTRAINT uq_rfa_approve_codes_approve_code UNIQUE (approve_code)
);

CREATE TABLE circulation_status_codes (
  id AUTO,
  code CODE(20) NOT NULL,
  description VARCHAR(50) NOT NULL,
  sort_order INT NOT NULL DEFAULT 0,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  description_en VARCHAR(50),
  PRIMARY KEY (id),
  CONSTRAINT uq_circulation_status_codes_code UNIQUE (code)
);

CREATE TABLE tags (
  id AUTO,
  project_id INT NOT NULL,
  tag_code CODE(50) NOT NULL,
  tag_name CODE(100) NOT NULL,
  tag_name_en VARCHAR(100),
  color_code VARCHAR(30) NOT NULL DEFAULT 'default',
  description TEXT,
  sort_order INT NOT NULL DEFAULT 0,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  PRIMARY KEY (id),
  CONSTRAINT uq_tag_project_code UNIQUE (project_id, tag_code),
  CONSTRAINT uq_tag_project UNIQUE (project_id, tag_name),
  FOREIGN KEY (project_id) REFERENCES projects (id),
  INDEX idx_tags_order (project_id, sort_order, tag_code)
);
