#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bf_aot::system {

// Work in a copy of this process, at low priority, that this process does not wait for. It ends
// with the object, and with this process however that ends.
class BackgroundWork {
 public:
  // Sends a line to the process that began the work.
  using Report = std::function<void(const std::string& line)>;

  // Starts the copy. Its standard error goes nowhere; what `work` throws becomes a last line
  // "error: ...". Throws: BF3201 when there is no memory for a process.
  explicit BackgroundWork(const std::function<void(const Report&)>& work);
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  // The lines that were reported since the last call; does not wait.
  std::vector<std::string> lines();
  bool ended() const { return from_ < 0; }

 private:
  int child_ = -1;
  int from_ = -1;
  std::string text_;  // of a line that is not complete
};

}  // namespace bf_aot::system
