CREATE TABLE contract_drawing_volumes (
  id AUTO,
  project_id INT NOT NULL,
  volume_code CODE(50) NOT NULL,
  volume_name VARCHAR(255) NOT NULL,
  description TEXT,
  sort_order INT NOT NULL DEFAULT 0,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  volume_name_en VARCHAR(255),
  is_active BOOLEAN NOT NULL DEFAULT 1,
  PRIMARY KEY (id),
  CONSTRAINT ux_volume_project UNIQUE (project_id, volume_code),
  CONSTRAINT fk_contract_drawing_volumes_project_id FOREIGN KEY (project_id) REFERENCES projects (id)
);

CREATE TABLE contract_drawing_cats (
  id AUTO,
  project_id INT NOT NULL,
  cat_code CODE(50) NOT NULL,
  cat_name VARCHAR(255) NOT NULL,
  description TEXT,
  sort_order INT NOT NULL DEFAULT 0,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  cat_name_en VARCHAR(255),
  is_active BOOLEAN NOT NULL DEFAULT 1,
  PRIMARY KEY (id),
  CONSTRAINT ux_cat_project UNIQUE (project_id, cat_code),
  CONSTRAINT fk_contract_drawing_cats_project_id FOREIGN KEY (project_id) REFERENCES projects (id)
);

CREATE TABLE contract_drawing_sub_cats (
  id AUTO,
  project_id INT NOT NULL,
  sub_cat_code CODE(50) NOT NULL,
  sub_cat_name VARCHAR(255) NOT NULL,
  description TEXT,
  sort_order INT NOT NULL DEFAULT 0,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  sub_cat_name_en VARCHAR(255),
  is_active BOOLEAN NOT NULL DEFAULT 1,
  PRIMARY KEY (id),
  CONSTRAINT ux_subcat_project UNIQUE (project_id, sub_cat_code),
  CONSTRAINT fk_contract_drawing_sub_cats_project_id FOREIGN KEY (project_id) REFERENCES projects (id)
);

CREATE TABLE contract_drawing_subcat_cat_maps (
  id AUTO,
  project_id INT NOT NULL,
  sub_cat_id INT NOT NULL,
  cat_id INT NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT ux_map_unique UNIQUE (project_id, sub_cat_id, cat_id),
  CONSTRAINT fk_contract_drawing_subcat_cat_maps_project_id FOREIGN KEY (project_id) REFERENCES projects (id),
  CONSTRAINT fk_contract_drawing_subcat_cat_maps_sub_cat_id FOREIGN KEY (sub_cat_id) REFERENCES contract_drawing_sub_cats (id),
  CONSTRAINT fk_contract_drawing_subcat_cat_maps_cat_id FOREIGN KEY (cat_id) REFERENCES contract_drawing_cats (id)
);

CREATE TABLE contract_drawings (
  id AUTO,
  project_id INT NOT NULL,
  condwg_no CODE(255) NOT NULL,
  title VARCHAR(255) NOT NULL,
  map_cat_id INT,
  volume_id INT,
  volume_page INT,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  deleted_at MOMENT,
  updated_by INT,
  uuid PUBLIC_ID,
  contract_id INT,
  originator_id INT,
  discipline_id INT,
  audience_kind SMALLINT NOT NULL DEFAULT 1,
  audience_id INT NOT NULL DEFAULT 0,
  scale VARCHAR(50),
  sheet_size VARCHAR(20),
  zone VARCHAR(100),
  version INT NOT NULL DEFAULT 1,
  number_uuid UUID,
  PRIMARY KEY (id),
  CONSTRAINT ux_condwg_no_project UNIQUE (project_id, condwg_no),
  CONSTRAINT fk_contract_drawings_project_id FOREIGN KEY (project_id) REFERENCES projects (id),
  CONSTRAINT fk_contract_drawings_map_cat_id FOREIGN KEY (map_cat_id) REFERENCES contract_drawing_subcat_cat_maps (id),
  CONSTRAINT fk_contract_drawings_volume_id FOREIGN KEY (volume_id) REFERENCES contract_drawing_volumes (id),
  CONSTRAINT fk_contract_drawings_contract_id FOREIGN KEY (contract_id) REFERENCES contracts (id),
  CONSTRAINT fk_contract_drawings_originator_id FOREIGN KEY (originator_id) REFERENCES organizations (id),
  CONSTRAINT fk_contract_drawings_discipline_id FOREIGN KEY (discipline_id) REFERENCES disciplines (id),
  UNIQUE INDEX idx_contract_drawings_uuid (uuid),
  INDEX ix_contract_drawings_number (project_id, condwg_no, created_at),
  INDEX ix_contract_drawings_discipline (project_id, discipline_id, condwg_no, created_at),
  INDEX ix_contract_drawings_audience (project_id, audience_kind, audience_id, condwg_no, created_at),
  INDEX ix_contract_drawings_audience_discipline (project_id, audience_kind, audience_id, discipline_id, condwg_no, created_at)
);

CREATE TABLE contract_drawing_revisions (
  id AUTO,
  contract_drawing_id INT NOT NULL,
  revision_number INT NOT NULL,
  revision_label CODE(10),
  is_current BOOLEAN,
  revision_date DATE,
  title VARCHAR(500) NOT NULL,
  title_en VARCHAR(500),
  description TEXT,
  status_code CODE(20),
  legacy_drawing_number CODE(100),
  current_from MOMENT NOT NULL DEFAULT NOW,
  current_until MOMENT,
  created_at MOMENT NOT NULL DEFAULT NOW,
  created_by INT,
  updated_by INT,
  uuid PUBLIC_ID,
  rfa_approve_code_id INT,
  drawing_number CODE(255),
  PRIMARY KEY (id),
  CONSTRAINT ux_cd_rev_drawing_revision UNIQUE (contract_drawing_id, revision_number),
  CONSTRAINT uq_cd_current UNIQUE (contract_drawing_id, is_current),
  CONSTRAINT fk_contract_drawing_revisions_rfa_approve_code_id FOREIGN KEY (rfa_approve_code_id) REFERENCES rfa_approve_codes (id),
  FOREIGN KEY (contract_drawing_id) REFERENCES contract_drawings (id),
  FOREIGN KEY (created_by) REFERENCES users (user_id),
  FOREIGN KEY (updated_by) REFERENCES users (user_id),
  UNIQUE INDEX idx_contract_drawing_revisions_uuid (uuid)
);

CREATE TABLE contract_drawing_revision_attachments (
  contract_drawing_revision_id INT NOT NULL,
  attachment_id INT NOT NULL,
  file_type VARCHAR(10),
  is_main_document BOOLEAN NOT NULL DEFAULT 0,
  PRIMARY KEY (contract_drawing_revision_id, attachment_id),
  FOREIGN KEY (contract_drawing_revision_id) REFERENCES contract_drawing_revisions (id),
  FOREIGN KEY (attachment_id) REFERENCES attachments (id)
);

CREATE TABLE contract_drawing_tags (
  drawing_id INT NOT NULL,
  tag_id INT NOT NULL,
  PRIMARY KEY (drawing_id, tag_id),
  FOREIGN KEY (drawing_id) REFERENCES contract_drawings (id),
  FOREIGN KEY (tag_id) REFERENCES tags (id),
  INDEX idx_contract_drawing_tags_tag (tag_id)
);

CREATE TABLE shop_drawing_main_categories (
  id AUTO,
  project_id INT NOT NULL,
  main_category_code CODE(50) NOT NULL,
  main_category_name VARCHAR(255) NOT NULL,
  description TEXT,
  sort_order INT NOT NULL DEFAULT 0,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  main_category_name_en VARCHAR(255),
  PRIMARY KEY (id),
  CONSTRAINT ux_main_category_project UNIQUE (project_id, main_category_code),
  CONSTRAINT fk_shop_drawing_main_categories_project_id FOREIGN KEY (project_id) REFERENCES projects (id)
);

CREATE TABLE shop_drawing_sub_categories (
  id AUTO,
  project_id INT NOT NULL,
  sub_category_code CODE(50) NOT NULL,
  sub_category_name VARCHAR(255) NOT NULL,
  description TEXT,
  sort_order INT NOT NULL DEFAULT 0,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  sub_category_name_en VARCHAR(255),
  PRIMARY KEY (id),
  CONSTRAINT ux_sub_category_project UNIQUE (project_id, sub_category_code),
  CONSTRAINT fk_shop_drawing_sub_categories_project_id FOREIGN KEY (project_id) REFERENCES projects (id)
);

CREATE TABLE shop_drawings (
  id AUTO,
  project_id INT NOT NULL,
  drawing_number CODE(255) NOT NULL,
  main_category_id INT,
  sub_category_id INT,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  deleted_at MOMENT,
  updated_by INT,
  uuid PUBLIC_ID,
  contract_id INT,
  originator_id INT,
  discipline_id INT,
  audience_kind SMALLINT NOT NULL DEFAULT 1,
  audience_id INT NOT NULL DEFAULT 0,
  scale VARCHAR(50),
  sheet_size VARCHAR(20),
  zone VARCHAR(100),
  version INT NOT NULL DEFAULT 1,
  number_uuid UUID,
  PRIMARY KEY (id),
  CONSTRAINT ux_shop_dwg_no_project UNIQUE (project_id, drawing_number),
  CONSTRAINT fk_shop_drawings_sub_category_id FOREIGN KEY (sub_category_id) REFERENCES shop_drawing_sub_categories (id),
  CONSTRAINT fk_shop_drawings_main_category_id FOREIGN KEY (main_category_id) REFERENCES shop_drawing_main_categories (id),
  CONSTRAINT fk_shop_drawings_project_id FOREIGN KEY (project_id) REFERENCES projects (id),
  CONSTRAINT fk_shop_drawings_contract_id FOREIGN KEY (contract_id) REFERENCES contracts (id),
  CONSTRAINT fk_shop_drawings_originator_id FOREIGN KEY (originator_id) REFERENCES organizations (id),
  CONSTRAINT fk_shop_drawings_discipline_id FOREIGN KEY (discipline_id) REFERENCES disciplines (id),
  UNIQUE INDEX idx_shop_drawings_uuid (uuid),
  INDEX ix_shop_drawings_number (project_id, drawing_number, created_at),
  INDEX ix_shop_drawings_discipline (project_id, discipline_id, drawing_number, created_at),
  INDEX ix_shop_drawings_audience (project_id, audience_kind, audience_id, drawing_number, created_at),
  INDEX ix_shop_drawings_audience_discipline (project_id, audience_kind, audience_id, discipline_id, drawing_number, created_at)
);

CREATE TABLE shop_drawing_revisions (
  id AUTO,
  shop_drawing_id INT NOT NULL,
  revision_number INT NOT NULL,
  revision_label CODE(10),
  is_current BOOLEAN,
  revision_date DATE,
  title VARCHAR(500) NOT NULL,
  description TEXT,
  legacy_drawing_number CODE(100),
  created_at MOMENT NOT NULL DEFAULT NOW,
  created_by INT,
  updated_by INT,
  uuid PUBLIC_ID,
  title_en VARCHAR(500),
  status_code CODE(20),
  current_from MOMENT NOT NULL DEFAULT NOW,
  current_until MOMENT,
  rfa_approve_code_id INT,
  drawing_number CODE(255),
  PRIMARY KEY (id),
  CONSTRAINT uq_sd_current UNIQUE (shop_drawing_id, is_current),
  CONSTRAINT ux_sd_rev_drawing_revision UNIQUE (shop_drawing_id, revision_number),
  CONSTRAINT fk_shop_drawing_revisions_shop_drawing_id FOREIGN KEY (shop_drawing_id) REFERENCES shop_drawings (id),
  CONSTRAINT fk_shop_drawing_revisions_updated_by FOREIGN KEY (updated_by) REFERENCES users (user_id),
  CONSTRAINT fk_shop_drawing_revisions_created_by FOREIGN KEY (created_by) REFERENCES users (user_id),
  CONSTRAINT fk_shop_drawing_revisions_rfa_approve_code_id FOREIGN KEY (rfa_approve_code_id) REFERENCES rfa_approve_codes (id),
  UNIQUE INDEX idx_shop_drawing_revisions_uuid (uuid)
);

CREATE TABLE shop_drawing_revision_attachments (
  shop_drawing_revision_id INT NOT NULL,
  attachment_id INT NOT NULL,
  file_type VARCHAR(10),
  is_main_document BOOLEAN NOT NULL DEFAULT 0,
  PRIMARY KEY (shop_drawing_revision_id, attachment_id),
  CONSTRAINT fk_shop_drawing_revision_attachments_shop_drawing_revision_id FOREIGN KEY (shop_drawing_revision_id) REFERENCES shop_drawing_revisions (id),
  CONSTRAINT fk_shop_drawing_revision_attachments_attachment_id FOREIGN KEY (attachment_id) REFERENCES attachments (id)
);

CREATE TABLE shop_drawing_revision_contract_refs (
  shop_drawing_revision_id INT NOT NULL,
  contract_drawing_id INT NOT NULL,
  PRIMARY KEY (shop_drawing_revision_id, contract_drawing_id),
  CONSTRAINT fk_shop_drawing_revision_contract_refs_shop_drawing_revision_id FOREIGN KEY (shop_drawing_revision_id) REFERENCES shop_drawing_revisions (id),
  CONSTRAINT fk_shop_drawing_revision_contract_refs_contract_drawing_id FOREIGN KEY (contract_drawing_id) REFERENCES contract_drawings (id)
);

CREATE TABLE shop_drawing_tags (
  drawing_id INT NOT NULL,
  tag_id INT NOT NULL,
  PRIMARY KEY (drawing_id, tag_id),
  FOREIGN KEY (drawing_id) REFERENCES shop_drawings (id),
  FOREIGN KEY (tag_id) REFERENCES tags (id),
  INDEX idx_shop_drawing_tags_tag (tag_id)
);

CREATE TABLE asbuilt_drawings (
  id AUTO,
  project_id INT NOT NULL,
  drawing_number CODE(255) NOT NULL,
  main_category_id INT,
  sub_category_id INT,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  deleted_at MOMENT,
  updated_by INT,
  uuid PUBLIC_ID,
  contract_id INT,
  originator_id INT,
  discipline_id INT,
  audience_kind SMALLINT NOT NULL DEFAULT 1,
  audience_id INT NOT NULL DEFAULT 0,
  scale VARCHAR(50),
  sheet_size VARCHAR(20),
  zone VARCHAR(100),
  version INT NOT NULL DEFAULT 1,
  number_uuid UUID,
  PRIMARY KEY (id),
  CONSTRAINT ux_asbuilt_no_project UNIQUE (project_id, drawing_number),
  CONSTRAINT fk_asbuilt_drawings_main_category_id FOREIGN KEY (main_category_id) REFERENCES shop_drawing_main_categories (id),
  CONSTRAINT fk_asbuilt_drawings_sub_category_id FOREIGN KEY (sub_category_id) REFERENCES shop_drawing_sub_categories (id),
  CONSTRAINT fk_asbuilt_drawings_project_id FOREIGN KEY (project_id) REFERENCES projects (id),
  CONSTRAINT fk_asbuilt_drawings_contract_id FOREIGN KEY (contract_id) REFERENCES contracts (id),
  CONSTRAINT fk_asbuilt_drawings_originator_id FOREIGN KEY (originator_id) REFERENCES organizations (id),
  CONSTRAINT fk_asbuilt_drawings_discipline_id FOREIGN KEY (discipline_id) REFERENCES disciplines (id),
  UNIQUE INDEX idx_asbuilt_drawings_uuid (uuid),
  INDEX ix_asbuilt_drawings_number (project_id, drawing_number, created_at),
  INDEX ix_asbuilt_drawings_discipline (project_id, discipline_id, drawing_number, created_at),
  INDEX ix_asbuilt_drawings_audience (project_id, audience_kind, audience_id, drawing_number, created_at),
  INDEX ix_asbuilt_drawings_audience_discipline (project_id, audience_kind, audience_id, discipline_id, drawing_number, created_at)
);

CREATE TABLE asbuilt_drawing_revisions (
  id AUTO,
  asbuilt_drawing_id INT NOT NULL,
  revision_number INT NOT NULL,
  revision_label CODE(10),
  is_current BOOLEAN,
  revision_date DATE,
  title VARCHAR(500) NOT NULL,
  description TEXT,
  legacy_drawing_number CODE(100),
  created_at MOMENT NOT NULL DEFAULT NOW,
  created_by INT,
  updated_by INT,
  uuid PUBLIC_ID,
  title_en VARCHAR(500),
  status_code CODE(20),
  current_from MOMENT NOT NULL DEFAULT NOW,
  current_until MOMENT,
  rfa_approve_code_id INT,
  drawing_number CODE(255),
  PRIMARY KEY (id),
  CONSTRAINT uq_asbuilt_current UNIQUE (asbuilt_drawing_id, is_current),
  CONSTRAINT ux_asbuilt_rev_drawing_revision UNIQUE (asbuilt_drawing_id, revision_number),
  CONSTRAINT fk_asbuilt_drawing_revisions_updated_by FOREIGN KEY (updated_by) REFERENCES users (user_id),
  CONSTRAINT fk_asbuilt_drawing_revisions_asbuilt_drawing_id FOREIGN KEY (asbuilt_drawing_id) REFERENCES asbuilt_drawings (id),
  CONSTRAINT fk_asbuilt_drawing_revisions_created_by FOREIGN KEY (created_by) REFERENCES users (user_id),
  CONSTRAINT fk_asbuilt_drawing_revisions_rfa_approve_code_id FOREIGN KEY (rfa_approve_code_id) REFERENCES rfa_approve_codes (id),
  UNIQUE INDEX idx_asbuilt_drawing_revisions_uuid (uuid)
);

CREATE TABLE asbuilt_drawing_revision_attachments (
  asbuilt_drawing_revision_id INT NOT NULL,
  attachment_id INT NOT NULL,
  file_type VARCHAR(10),
  is_main_document BOOLEAN NOT NULL DEFAULT 0,
  PRIMARY KEY (asbuilt_drawing_revision_id, attachment_id),
  CONSTRAINT fk_asbuilt_drawing_revision_attachments_revision_id FOREIGN KEY (asbuilt_drawing_revision_id) REFERENCES asbuilt_drawing_revisions (id),
  CONSTRAINT fk_asbuilt_drawing_revision_attachments_attachment_id FOREIGN KEY (attachment_id) REFERENCES attachments (id)
);

CREATE TABLE asbuilt_revision_shop_revisions_refs (
  asbuilt_drawing_revision_id INT NOT NULL,
  shop_drawing_revision_id INT NOT NULL,
  PRIMARY KEY (asbuilt_drawing_revision_id, shop_drawing_revision_id),
  CONSTRAINT fk_asbuilt_revision_shop_revisions_refs_asbuilt_id FOREIGN KEY (asbuilt_drawing_revision_id) REFERENCES asbuilt_drawing_revisions (id),
  CONSTRAINT fk_asbuilt_revision_shop_revisions_refs_shop_drawing_revision_id FOREIGN KEY (shop_drawing_revision_id) REFERENCES shop_drawing_revisions (id)
);

CREATE TABLE asbuilt_drawing_tags (
  drawing_id INT NOT NULL,
  tag_id INT NOT NULL,
  PRIMARY KEY (drawing_id, tag_id),
  FOREIGN KEY (drawing_id) REFERENCES asbuilt_drawings (id),
  FOREIGN KEY (tag_id) REFERENCES tags (id),
  INDEX idx_asbuilt_drawing_tags_tag (tag_id)
);

CREATE TABLE drawing_settings (
  project_id INT NOT NULL,
  kind CODE(10) NOT NULL,
  revision_scheme CODE(100) NOT NULL,
  number_pattern CODE(100),
  addenda BOOLEAN NOT NULL DEFAULT 0,
  updated_by_user_id INT NOT NULL,
  updated_at MOMENT NOT NULL,
  own_workflow BOOLEAN NOT NULL DEFAULT 0,
  PRIMARY KEY (project_id, kind),
  FOREIGN KEY (project_id) REFERENCES projects (id),
  FOREIGN KEY (updated_by_user_id) REFERENCES users (user_id)
);

CREATE TABLE drawing_imports (
  id AUTO,
  project_id INT NOT NULL,
  user_id INT NOT NULL,
  kind VARCHAR(10) NOT NULL,
  contract VARCHAR(50),
  originator VARCHAR(50),
  creates_missing BOOLEAN NOT NULL DEFAULT 0,
  file_name VARCHAR(255) NOT NULL,
  file_sha256 VARCHAR(64) NOT NULL,
  state VARCHAR(10) NOT NULL,
  rows_total INT NOT NULL,
  rows_done INT NOT NULL,
  rows_refused INT NOT NULL,
  rows_written INT NOT NULL DEFAULT 0,
  report JSON,
  file_key VARCHAR(100),
  lease UUID,
  lease_until MOMENT,
  leases_lost INT NOT NULL DEFAULT 0,
  created_at MOMENT NOT NULL,
  updated_at MOMENT NOT NULL,
  finished_at MOMENT,
  uuid PUBLIC_ID,
  PRIMARY KEY (id),
  CONSTRAINT ck_drawing_imports_state CHECK (state IN ('CHECKING', 'CHECKED', 'IMPORTING', 'DONE', 'FAILED')),
  CONSTRAINT fk_drawing_imports_project_id FOREIGN KEY (project_id) REFERENCES projects (id),
  CONSTRAINT fk_drawing_imports_user_id FOREIGN KEY (user_id) REFERENCES users (user_id),
  UNIQUE INDEX idx_drawing_imports_uuid (uuid),
  INDEX idx_drawing_imports_project (project_id, created_at)
);
