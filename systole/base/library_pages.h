// Memory that the code of loaded libraries takes.
#pragma once

namespace systole {

// Gives the read-only pages of the library or program that contains the address back to the system.
// The system reads them from the file again when they are next used, in less than a microsecond
// each while it has the file in memory. Does nothing where the system cannot. Thread-safe, also
// while other threads run the code.
void release_library_pages(const void* inside);

// The same of all libraries and the program. Needs no library to be initialized.
void release_all_library_pages();

}  // namespace systole
