create table records (
    kind text not null,
    id text not null,
    organisation text not null,
    workspace text,
    handle text,
    status text not null,
    version bigint not null,
    doc text not null,
    created_at bigint not null,
    updated_at bigint not null,
    primary key (kind, id)
);
create unique index records_handle on records (kind, organisation, handle);
create index records_by_handle on records (kind, handle);
create index records_listed on records (kind, organisation, workspace, created_at);

create table heads (
    name text not null primary key,
    value bigint not null,
    hash text not null
);
insert into heads (name, value, hash) values ('settings', 0, '');

create table changes (
    revision bigint not null,
    place bigint not null,
    kind text not null,
    id text not null,
    organisation text not null,
    at bigint not null,
    primary key (revision, place)
);

create table audit (
    organisation text not null,
    seq bigint not null,
    at bigint not null,
    actor text not null,
    action text not null,
    target_kind text not null,
    target_id text not null,
    address text not null,
    detail text not null,
    previous text not null,
    hash text not null,
    primary key (organisation, seq)
);
