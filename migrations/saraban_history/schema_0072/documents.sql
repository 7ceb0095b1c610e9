CREATE TABLE correspondences (
  id AUTO,
  correspondence_type_id INT NOT NULL,
  correspondence_number CODE(255) NOT NULL,
  discipline_id INT,
  is_internal_communication BOOLEAN NOT NULL DEFAULT 0,
  project_id INT NOT NULL,
  originator_id INT NOT NULL,
  created_at MOMENT NOT NULL DEFAULT NOW,
  created_by INT NOT NULL,
  deleted_at MOMENT,
  uuid PUBLIC_ID,
  number_uuid UUID,
  contract_id INT,
  sub_type_id INT,
  cancelled_at MOMENT,
  cancelled_by INT,
  cancel_reason TEXT,
  PRIMARY KEY (id),
  CONSTRAINT uq_corr_no_per_project UNIQUE (project_id, correspondence_number),
  CONSTRAINT fk_correspondences_correspondence_type_id FOREIGN KEY (correspondence_type_id) REFERENCES correspondence_types (id),
  CONSTRAINT fk_correspondences_discipline_id FOREIGN KEY (discipline_id) REFERENCES disciplines (id),
  CONSTRAINT fk_correspondences_originator_id FOREIGN KEY (originator_id) REFERENCES organizations (id),
  CONSTRAINT fk_correspondences_created_by FOREIGN KEY (created_by) REFERENCES users (user_id),
  CONSTRAINT fk_correspondences_project_id FOREIGN KEY (project_id) REFERENCES projects (id),
  CONSTRAINT fk_correspondences_contract_id FOREIGN KEY (contract_id) REFERENCES contracts (id),
  CONSTRAINT fk_correspondences_sub_type_id FOREIGN KEY (sub_type_id) REFERENCES correspondence_sub_types (id),
  CONSTRAINT fk_correspondences_cancelled_by FOREIGN KEY (cancelled_by) REFERENCES users (user_id),
  INDEX idx_correspondences_type_project (correspondence_type_id, project_id),
  INDEX idx_corr_number (correspondence_number),
  UNIQUE INDEX idx_correspondences_uuid (uuid),
  INDEX idx_correspondences_originator (originator_id),
  INDEX idx_correspondences_page (project_id, correspondence_type_id, created_at, uuid),
  INDEX idx_correspondences_author (created_by, created_at, id)
);

CREATE TABLE correspondence_revisions (
  id AUTO,
  correspondence_id INT NOT NULL,
  revision_number INT NOT NULL,
  revision_label CODE(10) NOT NULL,
  is_current BOOLEAN NOT NULL DEFAULT 0,
  current_corr_key INT GENERATED ALWAYS AS (CASE WHEN is_current = 1 THEN correspondence_id END) STORED,
  correspondence_status_id INT NOT NULL,
  subject VARCHAR(500) NOT NULL,
  description TEXT,
  body TEXT,
  remarks TEXT,
  document_date DATE,
  issued_date MOMENT,
  received_date MOMENT,
  due_date MOMENT,
  created_at MOMENT NOT NULL DEFAULT NOW,
  created_by INT NOT NULL,
  updated_by INT,
  details JSON,
  schema_version INT NOT NULL DEFAULT 1,
  uuid PUBLIC_ID,
  correspondence_number CODE(255) NOT NULL,
  priority VARCHAR(10) NOT NULL DEFAULT 'MEDIUM',
  withdrawn_at MOMENT,
  sender_number CODE(255),
  sender_date DATE,
  version INT NOT NULL DEFAULT 1,
  PRIMARY KEY (id),
  CONSTRAINT uq_master_revision_number UNIQUE (correspondence_id, revision_number),
  CONSTRAINT uq_master_current_active UNIQUE (current_corr_key),
  CONSTRAINT fk_correspondence_revisions_correspondence_status_id FOREIGN KEY (correspondence_status_id) REFERENCES correspondence_status (id),
  CONSTRAINT fk_correspondence_revisions_correspondence_id FOREIGN KEY (correspondence_id) REFERENCES correspondences (id),
  CONSTRAINT fk_correspondence_revisions_updated_by FOREIGN KEY (updated_by) REFERENCES users (user_id),
  CONSTRAINT fk_correspondence_revisions_created_by FOREIGN KEY (created_by) REFERENCES users (user_id),
  INDEX idx_corr_rev_current (correspondence_id, is_current),
  UNIQUE INDEX idx_correspondence_revisions_uuid (uuid),
  INDEX idx_corr_revisions_status_current (correspondence_status_id, is_current),
  INDEX idx_corr_revisions_number (correspondence_number)
);

CREATE TABLE correspondence_recipients (
  correspondence_id INT NOT NULL,
  recipient_organization_id INT NOT NULL,
  recipient_type VARCHAR(10) NOT NULL,
  position INT NOT NULL DEFAULT 0,
  PRIMARY KEY (correspondence_id, recipient_organization_id, recipient_type),
  CONSTRAINT fk_correspondence_recipients_correspondence_id FOREIGN KEY (correspondence_id) REFERENCES correspondences (id),
  CONSTRAINT fk_correspondence_recipients_recipient_organization_id FOREIGN KEY (recipient_organization_id) REFERENCES organizations (id),
  INDEX idx_corr_recipients_organization (recipient_organization_id)
);

CREATE TABLE correspondence_references (
  src_correspondence_id INT NOT NULL,
  tgt_correspondence_id INT NOT NULL,
  PRIMARY KEY (src_correspondence_id, tgt_correspondence_id),
  CONSTRAINT fk_correspondence_references_src_correspondence_id FOREIGN KEY (src_correspondence_id) REFERENCES correspondences (id),
  CONSTRAINT fk_correspondence_references_tgt_correspondence_id FOREIGN KEY (tgt_correspondence_id) REFERENCES correspondences (id),
  INDEX idx_corr_references_target (tgt_correspondence_id)
);

CREATE TABLE correspondence_revision_attachments (
  correspondence_revision_id INT NOT NULL,
  attachment_id INT NOT NULL,
  is_main_document BOOLEAN NOT NULL DEFAULT 0,
  PRIMARY KEY (correspondence_revision_id, attachment_id),
  CONSTRAINT fk_correspondence_revision_attachments_revision_id FOREIGN KEY (correspondence_revision_id) REFERENCES correspondence_revisions (id),
  CONSTRAINT fk_correspondence_revision_attachments_attachment_id FOREIGN KEY (attachment_id) REFERENCES attachments (id),
  INDEX idx_corr_rev_att_attachment (attachment_id)
);

CREATE TABLE rfas (
  id INT NOT NULL,
  rfa_type_id INT NOT NULL,
  created_at MOMENT NOT NULL DEFAULT NOW,
  created_by INT NOT NULL,
  deleted_at MOMENT,
  PRIMARY KEY (id),
  CONSTRAINT fk_rfas_id FOREIGN KEY (id) REFERENCES correspondences (id),
  CONSTRAINT fk_rfas_rfa_type_id FOREIGN KEY (rfa_type_id) REFERENCES rfa_types (id),
  CONSTRAINT fk_rfas_created_by FOREIGN KEY (created_by) REFERENCES users (user_id)
);

CREATE TABLE rfa_revisions (
  id INT NOT NULL,
  rfa_status_code_id INT NOT NULL,
  rfa_approve_code_id INT,
  approved_date DATE,
  details JSON,
  schema_version INT NOT NULL DEFAULT 1,
  PRIMARY KEY (id),
  CONSTRAINT fk_rfa_revisions_id FOREIGN KEY (id) REFERENCES correspondence_revisions (id),
  CONSTRAINT fk_rfa_revisions_rfa_status_code_id FOREIGN KEY (rfa_status_code_id) REFERENCES rfa_status_codes (id),
  CONSTRAINT fk_rfa_revisions_rfa_approve_code_id FOREIGN KEY (rfa_approve_code_id) REFERENCES rfa_approve_codes (id),
  INDEX idx_rfa_revisions_status (rfa_status_code_id)
);

CREATE TABLE rfa_items (
  id AUTO,
  rfa_revision_id INT NOT NULL,
  item_type VARCHAR(10) NOT NULL,
  shop_drawing_revision_id INT,
  asbuilt_drawing_revision_id INT,
  document_revision_id INT,
  rfa_approve_code_id INT,
  comment VARCHAR(500),
  PRIMARY KEY (id),
  CONSTRAINT uq_rfa_items_shop UNIQUE (rfa_revision_id, shop_drawing_revision_id),
  CONSTRAINT uq_rfa_items_asbuilt UNIQUE (rfa_revision_id, asbuilt_drawing_revision_id),
  CONSTRAINT uq_rfa_items_document UNIQUE (rfa_revision_id, document_revision_id),
  CONSTRAINT fk_rfa_items_shop_drawing_revision_id FOREIGN KEY (shop_drawing_revision_id) REFERENCES shop_drawing_revisions (id),
  CONSTRAINT fk_rfa_items_asbuilt_drawing_revision_id FOREIGN KEY (asbuilt_drawing_revision_id) REFERENCES asbuilt_drawing_revisions (id),
  CONSTRAINT fk_rfa_items_rfa_revision_id FOREIGN KEY (rfa_revision_id) REFERENCES rfa_revisions (id),
  CONSTRAINT fk_rfa_items_document_revision_id FOREIGN KEY (document_revision_id) REFERENCES correspondence_revisions (id),
  CONSTRAINT fk_rfa_items_rfa_approve_code_id FOREIGN KEY (rfa_approve_code_id) REFERENCES rfa_approve_codes (id),
  INDEX idx_rfa_items_shop (shop_drawing_revision_id),
  INDEX idx_rfa_items_asbuilt (asbuilt_drawing_revision_id),
  INDEX idx_rfa_items_document (document_revision_id)
);

CREATE TABLE rfa_item_claims (
  id AUTO,
  rfa_revision_id INT NOT NULL,
  shop_drawing_revision_id INT,
  asbuilt_drawing_revision_id INT,
  PRIMARY KEY (id),
  CONSTRAINT uq_rfa_item_claims_shop UNIQUE (shop_drawing_revision_id),
  CONSTRAINT uq_rfa_item_claims_asbuilt UNIQUE (asbuilt_drawing_revision_id),
  FOREIGN KEY (rfa_revision_id) REFERENCES rfa_revisions (id),
  FOREIGN KEY (shop_drawing_revision_id) REFERENCES shop_drawing_revisions (id),
  FOREIGN KEY (asbuilt_drawing_revision_id) REFERENCES asbuilt_drawing_revisions (id),
  INDEX idx_rfa_item_claims_rfa (rfa_revision_id)
);

CREATE TABLE transmittals (
  correspondence_id INT NOT NULL,
  purpose VARCHAR(20),
  remarks TEXT,
  PRIMARY KEY (correspondence_id),
  CONSTRAINT fk_transmittals_correspondence_id FOREIGN KEY (correspondence_id) REFERENCES correspondences (id)
);

CREATE TABLE transmittal_items (
  id AUTO,
  transmittal_id INT NOT NULL,
  item_correspondence_id INT NOT NULL,
  quantity INT NOT NULL DEFAULT 1,
  remarks VARCHAR(255),
  item_revision_id INT,
  document_number CODE(255),
  revision_label CODE(10),
  subject VARCHAR(500),
  transmittal_revision_id INT NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT ux_transmittal_revision_item UNIQUE (transmittal_id, transmittal_revision_id, item_correspondence_id),
  CONSTRAINT fk_transmittal_items_item_correspondence_id FOREIGN KEY (item_correspondence_id) REFERENCES correspondences (id),
  CONSTRAINT fk_transmittal_items_transmittal_id FOREIGN KEY (transmittal_id) REFERENCES transmittals (correspondence_id),
  CONSTRAINT fk_transmittal_items_item_revision_id FOREIGN KEY (item_revision_id) REFERENCES correspondence_revisions (id),
  CONSTRAINT fk_transmittal_items_transmittal_revision_id FOREIGN KEY (transmittal_revision_id) REFERENCES correspondence_revisions (id),
  INDEX idx_transmittal_items_document (item_correspondence_id)
);

CREATE TABLE transmittal_drawings (
  id AUTO,
  transmittal_revision_id INT NOT NULL,
  contract_drawing_revision_id INT,
  shop_drawing_revision_id INT,
  asbuilt_drawing_revision_id INT,
  drawing_number CODE(255),
  revision_label CODE(10),
  title VARCHAR(500),
  title_en VARCHAR(500),
  PRIMARY KEY (id),
  CONSTRAINT uq_transmittal_drawings_contract UNIQUE (transmittal_revision_id, contract_drawing_revision_id),
  CONSTRAINT uq_transmittal_drawings_shop UNIQUE (transmittal_revision_id, shop_drawing_revision_id),
  CONSTRAINT uq_transmittal_drawings_asbuilt UNIQUE (transmittal_revision_id, asbuilt_drawing_revision_id),
  FOREIGN KEY (transmittal_revision_id) REFERENCES correspondence_revisions (id),
  FOREIGN KEY (contract_drawing_revision_id) REFERENCES contract_drawing_revisions (id),
  FOREIGN KEY (shop_drawing_revision_id) REFERENCES shop_drawing_revisions (id),
  FOREIGN KEY (asbuilt_drawing_revision_id) REFERENCES asbuilt_drawing_revisions (id),
  INDEX idx_transmittal_drawings_contract (contract_drawing_revision_id),
  INDEX idx_transmittal_drawings_shop (shop_drawing_revision_id),
  INDEX idx_transmittal_drawings_asbuilt (asbuilt_drawing_revision_id)
);

CREATE TABLE circulations (
  id AUTO,
  correspondence_id INT,
  organization_id INT NOT NULL,
  circulation_no CODE(255) NOT NULL,
  circulation_subject VARCHAR(500) NOT NULL,
  circulation_status_code CODE(20) NOT NULL,
  created_by_user_id INT NOT NULL,
  submitted_at MOMENT,
  closed_at MOMENT,
  deadline_date DATE,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  uuid PUBLIC_ID,
  project_id INT NOT NULL,
  number_uuid UUID,
  priority VARCHAR(10) NOT NULL DEFAULT 'MEDIUM',
  remarks TEXT,
  cancelled_at MOMENT,
  cancelled_by INT,
  cancel_reason TEXT,
  version INT NOT NULL DEFAULT 1,
  PRIMARY KEY (id),
  CONSTRAINT uq_circulation_no_per_project UNIQUE (project_id, circulation_no),
  CONSTRAINT uq_circulation_per_organization UNIQUE (correspondence_id, organization_id),
  CONSTRAINT fk_circulations_circulation_status_code FOREIGN KEY (circulation_status_code) REFERENCES circulation_status_codes (code),
  CONSTRAINT fk_circulations_organization_id FOREIGN KEY (organization_id) REFERENCES organizations (id),
  CONSTRAINT fk_circulations_correspondence_id FOREIGN KEY (correspondence_id) REFERENCES correspondences (id),
  CONSTRAINT fk_circulations_created_by_user_id FOREIGN KEY (created_by_user_id) REFERENCES users (user_id),
  CONSTRAINT fk_circulations_project_id FOREIGN KEY (project_id) REFERENCES projects (id),
  CONSTRAINT fk_circulations_cancelled_by FOREIGN KEY (cancelled_by) REFERENCES users (user_id),
  INDEX idx_circulations_deadline (deadline_date),
  INDEX idx_circulations_organization (organization_id),
  UNIQUE INDEX idx_circulations_uuid (uuid),
  INDEX idx_circulations_page (project_id, created_at, uuid)
);

CREATE TABLE circulation_routings (
  id AUTO,
  circulation_id INT NOT NULL,
  step_number INT NOT NULL,
  organization_id INT NOT NULL,
  assigned_to INT,
  status VARCHAR(20) NOT NULL DEFAULT 'PENDING',
  comments TEXT,
  completed_at MOMENT,
  created_at MOMENT NOT NULL DEFAULT NOW,
  updated_at MOMENT NOT NULL DEFAULT NOW,
  uuid PUBLIC_ID,
  kind VARCHAR(20) NOT NULL DEFAULT 'ACTION',
  due_date DATE,
  PRIMARY KEY (id),
  CONSTRAINT fk_circulation_routings_circulation_id FOREIGN KEY (circulation_id) REFERENCES circulations (id),
  CONSTRAINT fk_circulation_routings_organization_id FOREIGN KEY (organization_id) REFERENCES organizations (id),
  CONSTRAINT fk_circulation_routings_assigned_to FOREIGN KEY (assigned_to) REFERENCES users (user_id),
  INDEX idx_circulation_routing_circulation (circulation_id),
  INDEX idx_circulation_routing_assignee (assigned_to, status),
  UNIQUE INDEX idx_circulation_routings_uuid (uuid)
);

CREATE TABLE circulation_attachments (
  circulation_id INT NOT NULL,
  attachment_id INT NOT NULL,
  is_main_document BOOLEAN NOT NULL DEFAULT 0,
  PRIMARY KEY (circulation_id, attachment_id),
  CONSTRAINT fk_circulation_attachments_circulation_id FOREIGN KEY (circulation_id) REFERENCES circulations (id),
  CONSTRAINT fk_circulation_attachments_attachment_id FOREIGN KEY (attachment_id) REFERENCES attachments (id),
  INDEX idx_circulation_att_attachment (attachment_id)
);

CREATE TABLE circulation_drawings (
  id AUTO,
  circulation_id INT NOT NULL,
  contract_drawing_revision_id INT,
  shop_drawing_revision_id INT,
  asbuilt_drawing_revision_id INT,
  PRIMARY KEY (id),
  CONSTRAINT uq_circulation_drawings_contract UNIQUE (circulation_id, contract_drawing_revision_id),
  CONSTRAINT uq_circulation_drawings_shop UNIQUE (circulation_id, shop_drawing_revision_id),
  CONSTRAINT uq_circulation_drawings_asbuilt UNIQUE (circulation_id, asbuilt_drawing_revision_id),
  FOREIGN KEY (circulation_id) REFERENCES circulations (id),
  FOREIGN KEY (contract_drawing_revision_id) REFERENCES contract_drawing_revisions (id),
  FOREIGN KEY (shop_drawing_revision_id) REFERENCES shop_drawing_revisions (id),
  FOREIGN KEY (asbuilt_drawing_revision_id) REFERENCES asbuilt_drawing_revisions (id),
  INDEX idx_circulation_drawings_contract (contract_drawing_revision_id),
  INDEX idx_circulation_drawings_shop (shop_drawing_revision_id),
  INDEX idx_circulation_drawings_asbuilt (asbuilt_drawing_revision_id)
);

CREATE TABLE document_reach (
  project_id INT NOT NULL,
  reader_kind SMALLINT NOT NULL,
  reader_id INT NOT NULL,
  kind SMALLINT NOT NULL,
  created_at MOMENT NOT NULL,
  document_id INT NOT NULL,
  revision_id INT NOT NULL,
  is_draft BOOLEAN NOT NULL,
  behind BOOLEAN NOT NULL,
  is_open BOOLEAN NOT NULL,
  status SMALLINT NOT NULL,
  type_id INT NOT NULL,
  discipline_id INT NOT NULL,
  contract_id INT NOT NULL,
  originator_id INT NOT NULL,
  author_id INT NOT NULL,
  document_date DATE NOT NULL,
  due_date MOMENT NOT NULL,
  document_number CODE(255) NOT NULL,
  CONSTRAINT pk_document_reach PRIMARY KEY (project_id, reader_kind, reader_id, kind, created_at, document_id),
  INDEX ix_reach_status (project_id, reader_kind, reader_id, kind, status, created_at, document_id),
  INDEX ix_reach_type (project_id, reader_kind, reader_id, kind, type_id, created_at, document_id),
  INDEX ix_reach_discipline (project_id, reader_kind, reader_id, kind, discipline_id, created_at, document_id),
  INDEX ix_reach_due (project_id, reader_kind, reader_id, kind, is_open, due_date, created_at, document_id),
  INDEX ix_reach_date (project_id, reader_kind, reader_id, kind, document_date, created_at, document_id),
  INDEX ix_reach_number (project_id, reader_kind, reader_id, kind, document_number, created_at, document_id),
  INDEX ix_reach_document (document_id, kind)
) WITHOUT ROWID;
