// countrace-load: what `countrace load` starts for each trace, and `report` of
// an engine: links the engines' libraries, so that the program has none of
// them.
//
//   countrace-load VERB ADDRESS PASSWORD_FILE SECONDS load TRACE HOST BATCH
//                  CLUSTER [migrate | no-texts]...
//   countrace-load VERB ADDRESS PASSWORD_FILE SECONDS fetch FILE
//
// Exit: as of `countrace`; what is to be said is on stderr, as VERB's.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_parse.h"
#include "logformat/read/trace_reader.h"
#include "rmap/export/sqlite_database.h"
#include "rmap/export/sqlite_writer.h"
#include "rmap/load/engine.h"
#include "rmap/load/engine_address.h"
#include "rmap/load/engine_cluster.h"
#include "rmap/load/fetch_tables.h"
#include "rmap/load/load_trace.h"

namespace countrace::rmap {
namespace {

constexpr int kExitFailed = 1, kExitUsage = 2, kExitPrivilege = 5;

int Number(const std::string& word) {
  return static_cast<int>(base::ParseInteger(word).value_or(0));
}

std::string Said(const std::string& verb, const std::string& text) {
  return absl::StrFormat("countrace %s: %s\n", verb, base::EscapeLines(text));
}

absl::Status Load(const std::vector<std::string>& words,
                  const EngineAddress& address, const std::string& password) {
  const auto has = [&](const char* word) {
    return std::find(words.begin() + 9, words.end(), word) != words.end();
  };
  const std::string& trace = words[5];
  const auto reader = logformat::TraceReader::Open(trace);
  if (!reader.ok()) return reader.status();
  const auto cluster = OpenCluster(address, password, words[8]);
  if (!cluster.ok()) return cluster.status();
  const auto loaded = LoadTrace(
      **reader,
      {.host = words[6],
       .migrate = has("migrate"),
       .texts = !has("no-texts"),
       .batch_rows = std::clamp<std::int64_t>(Number(words[7]), 1, kBatchRows)},
      *cluster);
  if (!loaded.ok()) return loaded.status();
  const std::string text =
      loaded->before ? absl::StrFormat("%s is loaded already", trace)
                     : absl::StrFormat(
                           "%s: %d rows are loaded, %d of them by an earlier "
                           "load",
                           trace, loaded->rows, loaded->stored_before);
  std::fputs(Said(words[0], text).c_str(), stderr);
  return absl::OkStatus();
}

absl::Status Fetch(const std::string& file, const EngineAddress& address,
                   const std::string& password) {
  const auto engine = OpenEngine(address, password, "");
  if (!engine.ok()) return engine.status();
  const auto database = SqliteDatabase::Open(file, file, nullptr);
  if (!database.ok()) return database.status();
  SqliteWriter writer(**database);
  return FetchTables(**engine, address.trace, writer);
}

absl::Status Run(const std::vector<std::string>& words) {
  const auto address = ParseEngineAddress(words[1]);
  if (!address.ok()) return address.status();
  const auto password = EnginePassword(words[2]);
  if (!password.ok()) return password.status();
  EndWhenSilent("countrace " + words[0] + ": ",
                absl::StrFormat(": no answer within %s s (%d s to connect); "
                                "the same command goes on there\n",
                                words[3], kConnectSeconds),
                Number(words[3]));
  return words[4] == "load" ? Load(words, *address, *password)
                            : Fetch(words[5], *address, *password);
}

int Main(const std::vector<std::string>& words) {
  if (words.size() < 6 || (words[4] == "load" && words.size() < 9)) {
    std::fputs("countrace-load: used by countrace only\n", stderr);
    return kExitUsage;
  }
  // A server that went away is an error of the write.
  signal(SIGPIPE, SIG_IGN);
  const absl::Status status = Run(words);
  if (status.ok()) return 0;
  const bool goes_on = words[4] == "load" && absl::IsUnavailable(status);
  std::fputs(
      Said(words[0], base::StatusText(status) +
                         (goes_on ? "; the same command goes on there" : ""))
          .c_str(),
      stderr);
  return absl::IsPermissionDenied(status) ? kExitPrivilege : kExitFailed;
}

}  // namespace
}  // namespace countrace::rmap

int main(int argc, char** argv) {
  return countrace::rmap::Main({argv + std::min(argc, 1), argv + argc});
}
