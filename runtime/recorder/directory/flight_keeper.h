// Keeps a flight recording at its size limit: overwrites the packets of all
// streams that were left longest ago (logformat/write/flight_stream.h).
//
// Thread: one, the recorder's.
#ifndef COUNTRACE_RUNTIME_RECORDER_DIRECTORY_FLIGHT_KEEPER_H_
#define COUNTRACE_RUNTIME_RECORDER_DIRECTORY_FLIGHT_KEEPER_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "logformat/session_layout.h"
#include "logformat/write/flight_stream.h"
#include "runtime/recorder/directory/registered_hooks.h"

namespace countrace::runtime {

class FlightKeeper {
 public:
  // `limit_bytes`: size that is kept. `control` must outlive the object.
  FlightKeeper(std::string trace, std::uint64_t limit_bytes,
               logformat::SessionControl& control)
      : trace_(std::move(trace)),
        limit_bytes_(limit_bytes),
        control_(control),
        hooks_(trace_) {}

  // Overwrites packets above the limit. Cheap if there are none; call it often.
  void Keep();
  // After the end of the recording, with all streams closed: gives the streams
  // the form of a finished trace. Returns the errors.
  std::vector<std::string> Finish();

  std::uint64_t overwritten_records() const;
  // The offset up to which packets of a stream file were overwritten; 0: none.
  std::uint64_t overwritten_to(const std::string& file) const;

 private:
  void FindStreams();
  bool DropOne();
  void Note(const absl::Status& status);

  std::string trace_;
  std::uint64_t limit_bytes_;
  logformat::SessionControl& control_;
  std::map<std::string, logformat::FlightStream> streams_;  // by file name
  RegisteredHooks hooks_;
  std::vector<std::string> messages_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_DIRECTORY_FLIGHT_KEEPER_H_
