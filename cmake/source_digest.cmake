# cmake -DFOLDER=<folder> -DSUBFOLDERS=<a>,<b> -DOUT=<file> -P source_digest.cmake
#
# Writes the C++ file that defines systole::cpu::generator_digest(): SHA-256 of the sources in these subfolders.
string(REPLACE "," ";" subfolders "${SUBFOLDERS}")
set(digests "")
foreach(subfolder IN LISTS subfolders)
  file(GLOB files "${FOLDER}/${subfolder}/*.h" "${FOLDER}/${subfolder}/*.cc")
  list(FILTER files EXCLUDE REGEX "_test\\.cc$")
  list(SORT files)
  foreach(file IN LISTS files)
    file(SHA256 "${file}" digest)
    cmake_path(GET file FILENAME name)
    string(APPEND digests "${subfolder}/${name} ${digest}\n")
  endforeach()
endforeach()
string(SHA256 digest "${digests}")
file(WRITE "${OUT}" "#include \"systole/backends/cpu/jit/generator_digest.h\"\n
namespace systole::cpu {\n
std::string_view generator_digest() { return \"${digest}\"; }\n
}  // namespace systole::cpu\n")
