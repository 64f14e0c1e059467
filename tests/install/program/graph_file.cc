// Writes a graph into a file and runs it from there, as a program without protobuf's headers does.
#include <iostream>

#include "systole/systole.h"

int main() {
  const std::string path = "graph.pbtxt";
  {
    st::Graph graph;
    const st::GraphScope scope(graph);
    const st::Output x = st::placeholder(st::DType::f32, {st::kUnknown}, "x");
    st::multiply(x, 3.0F, {.name = "y"});
    st::write_graph_def(graph, path);
  }
  st::Graph graph;
  const st::GraphScope scope(graph);
  st::import_graph_def_file(path);
  const std::string bytes = st::graph_def_bytes(graph);
  const st::ImportedGraph twice =
      st::import_graph_def(bytes, {.inputs = {{"x:0", graph.tensor("y")}}, .outputs = {"y:0"}});
  st::Session session("", {.graph = &graph});
  const st::Tensor fed = st::Tensor::of<float>({2}, {1, 2});
  std::cout << session.run(twice.outputs[0], {{graph.tensor("x"), fed}}).to_string() << "\n";
}
