// Tables of what the data addresses of samples belong to.
//
// In: Samples::data_sums. Out: rows, most first. Thread: any.
#ifndef COUNTRACE_RMAP_SAMPLES_ROWS_DATA_ROWS_H_
#define COUNTRACE_RMAP_SAMPLES_ROWS_DATA_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "logformat/trace_info.h"
#include "rmap/result/data_detail.h"
#include "rmap/result/samples.h"
#include "rmap/result/tables.h"
#include "rmap/samples/rows/data_source.h"
#include "rmap/samples/rows/place_rows.h"
#include "rmap/samples/sums/sampled_amount.h"

namespace countrace::rmap {

struct DataRow {
  std::uint32_t event = 0;  // of Samples::events
  std::uint32_t group = 0;  // SampleChoice::groups
  std::string in = {};      // as CodeRow::in
  // A global object, a kind of memory with its range if that says which, or a
  // bucket: [heap], [stack], [code], [no symbol], [file], [kernel], [unknown],
  // [no address].
  std::string data = {};
  std::string of = {};        // whose memory: "server 812"; a stack's thread
  std::string dso = {};       // file that it is mapped from
  std::uint64_t address = 0;  // kPage, kAddress
  DataSource source = {};     // kSource
  SampledAmount amount = {};
  std::uint64_t weights = 0;  // sum of the samples'; 0: the event has none
};

struct DataTable {
  std::vector<DataRow> rows;
  std::vector<std::string> messages;  // files without names
};

// `report`: with samples, their data by `detail`, and processes.
DataTable MakeDataTable(const Report& report, const logformat::TraceInfo& info,
                        DataDetail detail, const SampleChoice& choice = {});

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SAMPLES_ROWS_DATA_ROWS_H_
