// What countrace reads of a metadata text in TSDL: the values of its env block,
// and the trace's uuid. Everything else there is for other readers.
#ifndef COUNTRACE_LOGFORMAT_DESCRIPTION_METADATA_BLOCKS_H_
#define COUNTRACE_LOGFORMAT_DESCRIPTION_METADATA_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace countrace::logformat {

using EnvValue = std::variant<std::int64_t, std::string>;
using Env = std::map<std::string, EnvValue, std::less<>>;

struct MetadataBlocks {
  Env env;
  bool has_env = false;
  std::string uuid;
  std::size_t bad_offset = 0;  // of the first text that cannot be read
  bool bad = false;
};

MetadataBlocks ReadMetadataBlocks(std::string_view text);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_DESCRIPTION_METADATA_BLOCKS_H_
