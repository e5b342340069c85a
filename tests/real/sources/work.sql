create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
insert into t select i, 'x' || i from n;
select 'rows ' || count(*) from t where length(sha3(b)) = 32;
select sum(a) from t;
.exit 4
