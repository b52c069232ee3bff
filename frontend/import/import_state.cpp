#include "frontend/import/import_state.h"

#include <fmt/format.h>

#include <utility>

#include "frontend/model.h"
#include "frontend/shapes.h"

namespace bf {

ValueId ImportState::add_value(const std::string& name, const Shape& shape) {
  reader.check(shape, "");
  if (element_count(shape) == 0)
    fail("BF1014", "",
         fmt::format("tensor '{}' of shape {} has no elements", printable(name), to_string(shape)));
  std::string shown = printable(name);
  // Names that had to be changed may have become equal; a number keeps them apart.
  if (shown != name) shown += fmt::format("#{}", graph.values.size());
  if (!names.insert(shown).second) {
    const ValueId id = graph.add_value(std::move(shown), shape);
    names.insert(graph.value(id).name);
    return id;
  }
  // Known to be unique: without the search, which would make long models quadratic.
  graph.values.push_back({std::move(shown), shape});
  return static_cast<ValueId>(graph.values.size() - 1);
}

ValueId ImportState::real_value(const std::string& name) {
  Symbol& symbol = symbols.at(name);
  if (const auto* id = std::get_if<ValueId>(&symbol)) return *id;
  if (const auto* unavailable = std::get_if<Unavailable>(&symbol))
    fail("BF1020", "",
         fmt::format("reads '{}', the mask that {} makes", printable(name), unavailable->maker),
         "export the model in evaluation mode");
  if (std::holds_alternative<IntegerTensor>(symbol))
    fail("BF1019", "",
         fmt::format("'{}' is an integer tensor where a real one is needed", printable(name)),
         "store it as float");
  BF_CHECK(std::holds_alternative<PendingLiteral>(symbol));
  auto& pending = std::get<PendingLiteral>(symbol);
  const ValueId id = add_value(name, pending.value.shape);
  graph.nodes.push_back({Literal{std::move(pending.value)}, {}, id, std::move(pending.origin)});
  symbol = id;
  return id;
}

}  // namespace bf
