// The tables of the report of one trace, out of an engine into another writer:
// rows, columns and their order are those of `export`.
#ifndef COUNTRACE_RMAP_LOAD_FETCH_TABLES_H_
#define COUNTRACE_RMAP_LOAD_FETCH_TABLES_H_

#include <string>

#include "absl/status/status.h"
#include "rmap/export/table_writer.h"
#include "rmap/load/engine.h"

namespace countrace::rmap {

// `which`: the key of a trace, or a recording or host of one; "": the only one.
// Writes the tables of the report, `books` and `meta`, and finishes `writer`.
// Errors: NOT_FOUND there is not one such trace; DATA_LOSS the engine has not
// all of its rows.
absl::Status FetchTables(Engine& engine, const std::string& which,
                         TableWriter& writer);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_LOAD_FETCH_TABLES_H_
