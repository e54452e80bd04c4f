/*
 * scratch: removes a directory of the host that a bare jail worked in, when its supervisor has died and cannot. Init calls it
 * after it has killed all that it started, so nobody else works in the directory.
 */
#ifndef WARDER_JAIL_INSIDE_SCRATCH_H
#define WARDER_JAIL_INSIDE_SCRATCH_H

/* With all it holds. No symbolic link is followed. What cannot be removed stays: nobody is left to hear of it. */
void scratch_remove(const char *path);

#endif
