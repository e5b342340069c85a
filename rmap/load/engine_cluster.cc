#include "rmap/load/engine_cluster.h"

#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/quantity_parse.h"
#include "rmap/load/engine_tables.h"

namespace countrace::rmap {
namespace {

struct Shard {
  std::string number, host;
  std::uint64_t weight = 0;
};

std::uint64_t NumberOf(const std::optional<std::string>& cell) {
  return base::ParseInteger(cell.value_or("")).value_or(0);
}

absl::StatusOr<std::vector<Shard>> ShardsOf(Engine& asked,
                                            const std::string& name) {
  std::vector<Shard> shards;
  std::set<std::string> names;
  const absl::Status status = asked.Read(
      "SELECT cluster, shard_num, host_name, shard_weight, replica_num FROM "
      "system.clusters ORDER BY cluster, shard_num, replica_num",
      [&](const TextRow& row) {
        names.insert(row[0].value_or(""));
        if (row[0] != name) return absl::OkStatus();
        shards.push_back(
            {row[1].value_or(""), row[2].value_or(""), NumberOf(row[3])});
        if (row[4] == "1") return absl::OkStatus();
        return absl::InvalidArgumentError(absl::StrFormat(
            "shard %s of the cluster `%s` has replicas (%s): only clusters of "
            "one server a shard can be loaded",
            shards.back().number, name, shards.back().host));
      });
  if (!status.ok()) return status;
  if (!shards.empty()) return shards;
  return absl::InvalidArgumentError(absl::StrFormat(
      "that server's remote_servers have no cluster `%s`; they have: %s", name,
      absl::StrJoin(names, ", ")));
}

// Not tables of one server for those of a cluster, or of another cluster.
absl::Status CheckTables(Engine& asked, const std::string& name) {
  return asked.Read(
      absl::StrFormat("SELECT engine_full FROM system.tables WHERE "
                      "database = currentDatabase() AND name = '%s'",
                      kLoadsTable),
      [&](const TextRow& row) {
        const std::string made = row[0].value_or("");
        std::string of;
        if (made.starts_with("Distributed(")) {
          of = made.substr(12, made.find(',') - 12);
          std::erase(of, '`');
        }
        if (of == name) return absl::OkStatus();
        return absl::InvalidArgumentError(absl::StrFormat(
            "the tables there are of %s: load %s, or into another database",
            of.empty() ? "one server" : "the cluster " + of,
            of.empty() ? "without --cluster" : "with --cluster " + of));
      });
}

}  // namespace

absl::StatusOr<Engine*> EngineCluster::ShardOf(const std::string& trace,
                                               const std::string& host) const {
  std::uint64_t all = 0, left = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto rows = StoredRows(*engines[i], kLoadsTable, trace);
    if (!rows.ok()) return rows.status();
    if (*rows > 0) return engines[i].get();
    all += weights[i];
  }
  if (all == 0) return engines.front().get();
  const absl::Status status = engines.back()->Read(
      absl::StrFormat("SELECT cityHash64(unhex('%s')) %% %d",
                      absl::BytesToHexString(host), all),
      [&](const TextRow& row) {
        left = NumberOf(row[0]);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  std::size_t shard = 0;
  for (; left >= weights[shard]; ++shard) left -= weights[shard];
  return engines[shard].get();
}

absl::StatusOr<EngineCluster> OpenCluster(const EngineAddress& address,
                                          const std::string& password,
                                          const std::string& name) {
  EngineCluster cluster;
  auto asked = OpenEngine(address, password, name);
  if (!asked.ok()) return asked.status();
  if (address.kind == EngineKind::kClickHouse) {
    const absl::Status status = CheckTables(**asked, name);
    if (!status.ok()) return status;
  }
  if (!name.empty()) {
    const auto shards = ShardsOf(**asked, name);
    if (!shards.ok()) return shards.status();
    for (const Shard& shard : *shards) {
      EngineAddress place = address;
      place.host = shard.host;
      place.database += kLocalEnd;
      auto engine = OpenEngine(place, password, "");
      if (!engine.ok()) {
        return absl::Status(
            engine.status().code(),
            absl::StrFormat("shard %s of the cluster `%s`: %s", shard.number,
                            name, engine.status().message()));
      }
      cluster.engines.push_back(*std::move(engine));
      cluster.weights.push_back(shard.weight);
    }
  }
  cluster.engines.push_back(*std::move(asked));
  return cluster;
}

}  // namespace countrace::rmap
