// A map in place of Abseil's, for wasm (viewer/README.md).
#ifndef COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_CONTAINER_FLAT_HASH_MAP_H_
#define COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_CONTAINER_FLAT_HASH_MAP_H_

#include <map>

namespace absl {

template <typename Key, typename Value>
using flat_hash_map = std::map<Key, Value>;

}  // namespace absl

#endif  // COUNTRACE_VIEWER_OFFLINE_WASM_ABSL_CONTAINER_FLAT_HASH_MAP_H_
