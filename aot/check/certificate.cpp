#include "aot/check/certificate.h"

#include "aot/check/walk.h"

namespace bf_check {

Header read_header(Input& in) {
  const std::string magic = in.text(4);
  if (magic == "BFC1") in.fail("this is a certificate of version 1: make it anew");
  if (magic != kMagic) in.fail("this is no certificate");
  Header header;
  const unsigned statement = in.byte();
  if (statement != kHolds && statement != kViolated) in.fail("no such statement");
  header.statement = static_cast<Statement>(statement);
  const unsigned semantics = in.byte();
  if (semantics > kFloat32) in.fail("no such semantics");
  header.grid.float32 = semantics == kFloat32;
  if (header.grid.float32) header.grid.ulps = in.byte();
  header.grid.weight_bits = in.byte();
  header.grid.value_bits = in.byte();
  header.coefficient_bits = in.byte();
  const auto outside = [](unsigned bits, unsigned most) { return bits < 8 || bits > most; };
  if (outside(header.grid.weight_bits, 50) || outside(header.grid.value_bits, 48) ||
      outside(header.coefficient_bits, 48))
    in.fail("no such grid");
  for (u64 left = in.number(); left > 0; --left) header.models.push_back(in.text(32));
  header.property = in.text(32);
  header.tool = in.text(in.number());
  return header;
}

void expect_shapes(const Shapes& shapes, const Property& property) {
  for (std::size_t i = 0; i < property.networks.size(); ++i)
    if (!property.networks[i].shapes.empty() && property.networks[i].shapes != shapes.at(i))
      refuse("the property declares other shapes than the model has");
}

void expect_fit(const Network& network, const Property& property) {
  const std::size_t outputs = network.outputs.size() - property.wiring.products.size();
  if (outputs != property.outputs)
    refuse("the property is about " + std::to_string(property.outputs) +
           " outputs, and the model has " + std::to_string(outputs));
  expect_shapes(network.shapes, property);
}

std::vector<Model> read_models(const std::vector<std::string>& models, const Property& property) {
  std::vector<Model> read;
  for (const std::string& model : models) read.push_back(read_onnx(model));
  if (models.size() != property.networks.size())
    refuse("the property declares another number of networks");
  for (std::size_t i = 0; i < models.size(); ++i) {
    const Declared& network = property.networks[i];
    if (network.equal && models[i] != models[*network.equal])
      refuse("networks that the property declares equal are of different files");
    if (!network.isomorphic) continue;
    const std::vector<Node>&nodes = read[i].nodes, &others = read[*network.isomorphic].nodes;
    bool same = nodes.size() == others.size();
    for (std::size_t k = 0; k < nodes.size() && same; ++k) same = nodes[k].op == others[k].op;
    if (!same) refuse("networks that the property declares isomorphic have other operators");
  }
  return read;
}

Statement check(const std::vector<std::string>& models, const std::string& property,
                const std::string& certificate, Work& work, const Checking& way) {
  Input in(certificate);
  const Header header = read_header(in);
  if (header.models.size() != models.size())
    in.fail("the certificate is about another number of models");
  for (std::size_t i = 0; i < models.size(); ++i)
    if (header.models[i] != sha256(models[i])) in.fail("the certificate is about another model");
  if (header.property != sha256(property)) in.fail("the certificate is about another property");
  const Property asked = read_property(property);
  const std::vector<Model> read = read_models(models, asked);
  if (header.statement == kViolated) {
    std::vector<Rat> point;
    for (u32 i = 0; i < asked.inputs; ++i) point.push_back(from_fraction(in.text(in.number())));
    if (!in.done()) in.fail("the certificate goes on behind its end");
    const Outputs outputs =
        evaluate(read, asked.wiring, point, header.grid, header.coefficient_bits, work);
    expect_shapes(outputs.shapes, asked);
    if (!is_violated(asked, point, outputs.lower, outputs.upper))
      in.fail("the point does not violate the property");
    return kViolated;
  }
  const Network network = make_network(read, asked.wiring, header.grid, work);
  expect_fit(network, asked);
  walk_trees(in, network, asked, header.coefficient_bits, work, way);
  return kHolds;
}

}  // namespace bf_check
