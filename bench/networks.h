#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace bf_aot::bench {

// A real network with boxes to bound it on.
struct Network {
  std::string name;
  std::filesystem::path model;
  std::filesystem::path golden;
  bool dense = true;  // all layers are dense, with ReLU or none
};

// The networks of models/, and those of the shared corpus when it is there: in $BF_SHARED, else in
// ../shared beside the sources. Packed models are unpacked into a temporary folder that lives as
// long as this object.
class Networks {
 public:
  Networks();
  ~Networks();
  Networks(const Networks&) = delete;
  Networks& operator=(const Networks&) = delete;

  const std::vector<Network>& all() const { return all_; }

 private:
  void add_own();
  void add_shared();

  std::filesystem::path unpacked_;
  std::vector<Network> all_;
};

// auto_LiRPA's time for a network and method ("ibp", "crown_ibp", "crown") on its first box, in
// nanoseconds; 0 where there is none. See peer_times.json for its conditions.
double peer_nanoseconds(const std::string& network, const std::string& method);

// auto_LiRPA's time for 64 boxes in a call, lower bounds of the property's rows alone; 0 where
// there is none.
double peer_batch_nanoseconds(const std::string& network, const std::string& method);

}  // namespace bf_aot::bench
