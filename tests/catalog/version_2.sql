BEGIN TRANSACTION;
CREATE TABLE changes (
	kind VARCHAR(10) NOT NULL, 
	item_id BIGINT NOT NULL, 
	aspect VARCHAR(6) NOT NULL, 
	seq BIGINT NOT NULL, 
	PRIMARY KEY (kind, item_id, aspect), 
	UNIQUE (seq)
);
INSERT INTO "changes" VALUES('passage',1,'text',1);
INSERT INTO "changes" VALUES('passage',2,'text',2);
INSERT INTO "changes" VALUES('passage',3,'text',3);
INSERT INTO "changes" VALUES('passage',4,'text',4);
INSERT INTO "changes" VALUES('passage',1,'vector',5);
INSERT INTO "changes" VALUES('passage',2,'vector',6);
CREATE TABLE counters (
	name VARCHAR(20) NOT NULL, 
	value BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "counters" VALUES('document',3);
INSERT INTO "counters" VALUES('passage',4);
INSERT INTO "counters" VALUES('change',6);
CREATE TABLE documents (
	id BIGINT NOT NULL, 
	content_key VARCHAR(64) NOT NULL, 
	category TEXT NOT NULL, 
	content_title TEXT NOT NULL, 
	content_date VARCHAR(10), 
	content_date_source VARCHAR(10), 
	triplets TEXT NOT NULL, 
	notes TEXT NOT NULL, 
	uri TEXT NOT NULL, 
	title TEXT NOT NULL, 
	name_tokens TEXT NOT NULL, 
	date VARCHAR(10), 
	date_source VARCHAR(10), 
	day INTEGER, 
	PRIMARY KEY (id), 
	UNIQUE (content_key)
);
INSERT INTO "documents" VALUES(1,'e48a798ccde6f8dc2e8b455434eaa610977df3d49d578e4a675b99af604a8b74','text','',NULL,NULL,'[]','[]','/글.txt','글','글',NULL,NULL,NULL);
INSERT INTO "documents" VALUES(2,'c5ec3e70f1f2715f6cd24a01b5f3ab6f4e903232cb2a9978e090031ae0bb3da3','record','',NULL,NULL,'[["오일러","스승","요한 베르누이"],["오일러는","출생지","바젤"],["","x","·"]]','[]','/r.jsonl#1','','',NULL,NULL,NULL);
INSERT INTO "documents" VALUES(3,'0443884ab9a2bd30e82a4a27bce1576802aae4116e576f8fe1262d3b85d4c7cf','record','',NULL,NULL,'[["Daniel Bernoulli","father","요한 베르누이"]]','[]','/r.jsonl#2','','',NULL,NULL,NULL);
CREATE TABLE files (
	path TEXT NOT NULL, 
	size BIGINT NOT NULL, 
	mtime_ns BIGINT NOT NULL, 
	sha256 VARCHAR(64), 
	status VARCHAR(10) NOT NULL, 
	reason TEXT, 
	notes TEXT NOT NULL, 
	added_at BIGINT NOT NULL, 
	PRIMARY KEY (path)
);
INSERT INTO "files" VALUES('/글.txt',1,1,'03274a240d73670f3ddf7d084bb28a19558e69d7f9f5267654e553f0c5fa7b94','ok',NULL,'[]',1796077598);
INSERT INTO "files" VALUES('/r.jsonl',1,1,'ab','ok',NULL,'[]',1796077598);
CREATE TABLE meta (
	"key" VARCHAR(100) NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "meta" VALUES('schema_version','2');
INSERT INTO "meta" VALUES('base','5233a3c0-3005-41f8-bb51-3070a8635e3b');
INSERT INTO "meta" VALUES('epoch','8ed5f067-0244-41a7-a79b-b58d64d3ca6b');
INSERT INTO "meta" VALUES('file_time_dates','0');
INSERT INTO "meta" VALUES('fingerprint.embedder','e5/1');
INSERT INTO "meta" VALUES('fingerprint.analyser','kiwi/1');
INSERT INTO "meta" VALUES('fingerprint.splitter','200/500');
INSERT INTO "meta" VALUES('dimension','4');
CREATE TABLE passages (
	id BIGINT NOT NULL, 
	document_id BIGINT NOT NULL, 
	position INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	content TEXT, 
	context TEXT NOT NULL, 
	locator TEXT NOT NULL, 
	date VARCHAR(10), 
	tokens TEXT NOT NULL, 
	names TEXT DEFAULT '' NOT NULL, 
	text_hash BLOB NOT NULL, 
	waiting BIGINT, 
	PRIMARY KEY (id), 
	FOREIGN KEY(document_id) REFERENCES documents (id)
);
INSERT INTO "passages" VALUES(1,1,0,'서울은 수도다.',NULL,'','{"chars":[0,8]}',NULL,'서울은 수도다.','',X'B5BC391E8ADB11C607219353618E8F64',NULL);
INSERT INTO "passages" VALUES(2,2,0,'오일러는 바젤에서 배웠다.',NULL,'','{"chars":[0,14]}',NULL,'오일러는 바젤에서 배웠다.','=오일러 오일러 바젤',X'D6D684B58BD253CD34B8E709113FA143',NULL);
INSERT INTO "passages" VALUES(3,2,1,'그는 베르누이를 만났다.',NULL,'','{"chars":[0,13]}',NULL,'그는 베르누이를 만났다.','베르누이',X'500C6D5D61F973F81DD45271BB36CDC8',1099999999);
INSERT INTO "passages" VALUES(4,3,0,'Daniel Bernoulli was his son.',NULL,'','{"chars":[0,29]}',NULL,'Daniel Bernoulli was his son.','danielbernoulli',X'1F26AAF4353234BFABB326CA9A60A6E3',1099999999);
CREATE TABLE replies (
	model VARCHAR(200) NOT NULL, 
	"key" VARCHAR(64) NOT NULL, 
	reply TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	PRIMARY KEY (model, "key")
);
CREATE TABLE sources (
	uri TEXT NOT NULL, 
	path TEXT, 
	document_id BIGINT NOT NULL, 
	name_title TEXT NOT NULL, 
	name_tokens TEXT NOT NULL, 
	date VARCHAR(10), 
	date_source VARCHAR(10), 
	PRIMARY KEY (uri), 
	FOREIGN KEY(path) REFERENCES files (path), 
	FOREIGN KEY(document_id) REFERENCES documents (id)
);
INSERT INTO "sources" VALUES('/글.txt','/글.txt',1,'글','글',NULL,NULL);
INSERT INTO "sources" VALUES('/r.jsonl#1','/r.jsonl',2,'','',NULL,NULL);
INSERT INTO "sources" VALUES('/r.jsonl#2','/r.jsonl',3,'','',NULL,NULL);
CREATE TABLE staged_tokens (
	passage_id BIGINT NOT NULL, 
	tokens TEXT NOT NULL, 
	names TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (passage_id), 
	FOREIGN KEY(passage_id) REFERENCES passages (id) ON DELETE CASCADE
);
CREATE TABLE vectors (
	text_hash BLOB NOT NULL, 
	embedder VARCHAR(200) NOT NULL, 
	vector BLOB NOT NULL, 
	PRIMARY KEY (text_hash, embedder)
);
INSERT INTO "vectors" VALUES(X'B5BC391E8ADB11C607219353618E8F64','e5/1',X'8A352EB3A92C44BB');
INSERT INTO "vectors" VALUES(X'D6D684B58BD253CD34B8E709113FA143','e5/1',X'BD3942B656B84C32');
CREATE INDEX ix_sources_document_id ON sources (document_id);
CREATE INDEX ix_sources_path ON sources (path);
CREATE INDEX ix_passages_document ON passages (document_id, position);
CREATE INDEX ix_passages_waiting ON passages (waiting, id) WHERE waiting IS NOT NULL;
CREATE INDEX ix_passages_text_hash ON passages (text_hash);
COMMIT;
