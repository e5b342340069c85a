// The servers of a load: one, or the shards of a cluster of ClickHouse, which
// share the hosts, and the server that is asked about all of them.
//
//   DATABASE of the asked server: Distributed tables and the views
//   DATABASE_local of each shard: the rows, all of a trace on one shard
#ifndef COUNTRACE_RMAP_LOAD_ENGINE_CLUSTER_H_
#define COUNTRACE_RMAP_LOAD_ENGINE_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rmap/load/engine.h"
#include "rmap/load/engine_address.h"

namespace countrace::rmap {

struct EngineCluster {
  // Its shards, and last the one that is asked; one server alone is both.
  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<std::uint64_t> weights;  // of the shards; none: one server

  // Where the rows of a trace go: where some are, else where an INSERT into a
  // Distributed table sends those of `host`.
  absl::StatusOr<Engine*> ShardOf(const std::string& trace,
                                  const std::string& host) const;
};

// `name`: of the server's remote_servers; "": one server. The shards answer
// HTTP at the port of `address`. Errors: INVALID_ARGUMENT: there is no such
// cluster, names those that are; shards have replicas; the tables there are not
// of this cluster. UNAVAILABLE: names the shard.
absl::StatusOr<EngineCluster> OpenCluster(const EngineAddress& address,
                                          const std::string& password,
                                          const std::string& name);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_LOAD_ENGINE_CLUSTER_H_
