#pragma once

#include <string>
#include <vector>

#include "frontend/graph/graph.h"
#include "planner/plan/config.h"

namespace bf_aot::apps {

// A network of random numbers that `bf-aot profile` times. Together these networks do every kind of
// work (Family) of the cost model in several sizes.
struct ProfileNetwork {
  std::string name;
  Graph graph;  // as imported
  Method method = Method::kCrown;
  double centre = 0.5, radius = 0.05;  // the box's, equal for every input
};

std::vector<ProfileNetwork> profile_networks();

}  // namespace bf_aot::apps
